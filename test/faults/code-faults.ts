import { ZooKeeperError } from '../../src/index.ts';
import type { Fault, FrameFact } from './fault.ts';
import type { FrameKey } from './frame-key.ts';

/** Known codes, and one that no present server knows. */
const numbers = [-4, -5, -7, -101, -102, -110, -112, -118, -122, -127, -999];
const noNode = -101;
const creations: readonly FrameKey['op'][] = ['create2', 'downgrade'];

/** The server answers with an error: after it did what the request asked, or without doing it. */
export const codeFaults: readonly Fault[] = numbers.flatMap((number) => {
  const { code, isDefinite, isRetryable } = new ZooKeeperError(number, '', '');
  const refuses = isRetryable ? {} : { refuses: true as const };
  return [
    {
      name: `done, but answered ${number} ${code}`,
      lastsMs: 0,
      ...refuses,
      excludes: (fact: FrameFact) =>
        notForReplies('server', fact) ??
        (isDefinite && creations.includes(fact.key.op)
          ? 'a refusal says that nothing was created'
          : lieAbout(number, fact.key.op)),
      strike: () => ({ replaceError: number }),
    },
    {
      name: `not done, answered ${number} ${code}`,
      lastsMs: 0,
      ...refuses,
      excludes: (fact: FrameFact) =>
        notForReplies('client', fact) ??
        lieAbout(number, fact.key.op) ??
        (number === noNode && ['delete', 'setData'].includes(fact.key.op) ? thereIsOne : undefined),
      strike: (request, run) => {
        run.wire.refuse(request, number);
        return { replaceWith: existsRoot(request.xid) };
      },
    },
  ] satisfies Fault[];
});

const thereIsOne = 'no server answers NO_NODE for a znode that exists';

function notForReplies(from: 'client' | 'server', { key }: FrameFact): string | undefined {
  if (key.op === 'connect' || key.op === 'watch') return `a ${key.op} frame carries no error`;
  return key.from === from ? undefined : `the fault happens to the ${from === 'client' ? 'request' : 'reply'}`;
}

function lieAbout(number: number, op: FrameKey['op']): string | undefined {
  return number === noNode && (op === 'getData' || op === 'exists' || op === 'getChildren2') ? thereIsOne : undefined;
}

/** Replaces a request that the server refuses. It is answered in order, and does nothing. */
function existsRoot(xid: number): Buffer {
  const bytes = Buffer.alloc(4 + 14);
  bytes.writeInt32BE(14, 0);
  bytes.writeInt32BE(xid, 4);
  bytes.writeInt32BE(3, 8);
  bytes.writeInt32BE(1, 12);
  bytes.write('/', 16);
  return bytes;
}
