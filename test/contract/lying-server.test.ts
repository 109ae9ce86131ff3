import { expect } from 'chai';
import { InterProcessMutex, type LockClient } from '../../src/index.ts';
import { standardDriver } from '../../src/driver/standard-driver.ts';
import { Listing } from '../../src/internals/listing.ts';
import { longestFrame } from '../../src/zookeeper/wire/frames.ts';
import { getChildren } from '../../src/zookeeper/wire/operations.ts';
import { Reader, Writer } from '../../src/zookeeper/wire/wire.ts';
import { longerList } from '../../lab/proxy/longer-list.ts';
import { answered, once, sent } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Random } from '../../lab/random.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { costOf } from './cost.ts';

const mostMemory = 64 * 1024 * 1024;
/** CPU time. */
const mostBlockMs = 50;
/** Ten times as long as on an idle machine. Work that grows with the square of the list takes far longer. */
const mostBlockOfListMs = 1_000;

const noNode = -101;
const statBytes = 68;
/** The count of a list, behind the length and the header of its frame. */
const countAt = 20;

/** The header of an answer to the frame's request, or of another one. */
const reply = ({ xid }: { readonly xid: number }, zxid = 1n): Writer => new Writer().int(xid).long(zxid).int(0);

const withLength = (length: number, more = 64): Buffer => {
  const bytes = Buffer.alloc(4 + more);
  bytes.writeInt32BE(length, 0);
  return bytes;
};

const names = (count: number, name: (index: number) => string): Writer => {
  const to = new Writer().int(count);
  for (let index = 0; index < count; index += 1) to.text(name(index));
  return to;
};

interface Lie {
  readonly what: string;
  /** The first answer of this kind is replaced. */
  readonly to: Frame['op'];
  /** Called before anything is measured. */
  readonly by: () => (frame: Frame) => Buffer;
  /** The text of the warning. */
  readonly says: RegExp;
  /** True for a frame that is whole: only its own request has to be settled. */
  readonly keepsConnection?: boolean;
}

const waiterName = (index: number): string =>
  `_c_24fbea0a-aed6-4c73-9226-c5d2af4d6939-lock-${String(index).padStart(10, '0')}`;

const lies: readonly Lie[] = [
  {
    what: 'a length of 1 GB',
    to: 'getChildren2',
    by: () => () => withLength(2 ** 30),
    says: /A frame of 1073741824 bytes is not ZooKeeper's/,
  },
  {
    what: 'a negative length',
    to: 'create2',
    by: () => () => withLength(-7),
    says: /A frame of -7 bytes is not/,
  },
  {
    what: 'a frame that is too short for an answer',
    to: 'create2',
    by: () => () => withLength(5, 5),
    says: /A frame of 5 bytes is too short/,
  },
  {
    what: 'the answer to another request',
    to: 'create2',
    by:
      () =>
      ({ xid }) =>
        reply({ xid: xid + 1_000 }).frame(),
    says: /The server answered request \d+, but the answer to request \d+ was due/,
  },
  {
    what: 'an answer twice, as if in front of the next one',
    to: 'create2',
    by: () => (frame) => Buffer.concat([framed(frame), framed(frame)]),
    says: /The server answered request \d+, but/,
  },
  {
    what: 'the answer to a ping that was not sent',
    to: 'getChildren2',
    by: () => () => reply({ xid: -2 }).frame(),
    says: /The server answered a ping, but no answer was due/,
  },
  {
    what: 'an answer whose text is longer than its frame',
    to: 'create2',
    by: () => (frame) =>
      reply(frame)
        .int(2 ** 30)
        .frame(),
    says: /A record of length 1073741824 is cut short/,
    keepsConnection: true,
  },
  {
    what: 'a list of 2³¹ names',
    to: 'getChildren2',
    by: () => (frame) =>
      reply(frame)
        .int(2 ** 31 - 1)
        .frame(),
    says: /A record of length 2147483647 is cut short/,
  },
  {
    what: 'another znode than the asked one',
    to: 'create2',
    by: () => (frame) => reply(frame).text('/zookeeper/quota').long(1n).frame(),
    says: /does not fit: The server created another znode than the one that was asked for/,
    keepsConnection: true,
  },
  {
    what: 'a list that counts one name less than it has',
    to: 'getChildren2',
    by: () => (frame) => {
      const bytes = framed(frame);
      bytes.writeInt32BE(bytes.readInt32BE(countAt) - 1, countAt);
      return bytes;
    },
    says: /A frame of \d+ bytes has \d+ bytes too many/,
  },
  {
    what: 'names that are no names',
    to: 'getChildren2',
    by: () => (frame) => longerList(frame, 3, (index) => ['', '../..', 'a/b'][index] ?? ''),
    says: /contains a name that is none/,
  },
];

function framed(frame: Frame): Buffer {
  return Buffer.concat([withLength(frame.body.length, 0), frame.body]);
}

describe('a server that lies', function () {
  this.timeout(60_000);
  let warnings: string[];
  const lab = labOfEachTest('lying', { server: 'own', proxy: true, client: 'none' });

  const connect = (): Promise<LockClient> => {
    warnings = [];
    return lab.connect({ sessionTimeoutMs: 10_000, logger: { warn: (_details, text) => void warnings.push(text) } });
  };

  for (const { what, to, by, says, keepsConnection = false } of lies)
    it(`with ${what}: a clear error, ${keepsConnection ? 'the same' : 'a new'} connection, and little memory and time`, async () => {
      const client = await connect();
      await new InterProcessMutex(client, testPath('warm')).withLock(() => undefined);
      const lie = by();
      const isLiedTo = async (): Promise<void> => {
        warnings.length = 0;
        const connections = lab.proxy.frames.filter(sent('connect')).length;
        // Not the refusal that says that the lock's own znode does not exist yet.
        const isIt = (frame: Frame): boolean => answered(to)(frame) && frame.err !== noNode;
        once(lab.proxy, isIt, (frame) => ({ replaceWith: lie(frame) }));
        const mutex = new InterProcessMutex(client, testPath('lied-to'));
        await mutex.withLock((hold) => expect(hold.isValid).to.equal(true));
        expect(warnings.join('\n')).to.match(says);
        const isNew = lab.proxy.frames.filter(sent('connect')).length > connections;
        expect(isNew).to.equal(!keepsConnection);
      };
      const { blockMs, arrayBuffers, heap } = await costOf(what, isLiedTo, mostBlockMs);
      expect(blockMs, 'ms of the event loop').to.be.below(mostBlockMs);
      expect(arrayBuffers, 'bytes in array buffers').to.be.below(mostMemory);
      expect(heap, 'bytes of heap').to.be.below(mostMemory);
    });

  it('with events for paths that were never watched is believed in nothing', async () => {
    const client = await connect();
    const event = (path: string, type: number): Buffer =>
      new Writer().int(-1).long(-1n).int(0).int(type).int(3).text(path).frame();
    once(lab.proxy, answered('create2'), (frame) => ({
      replaceWith: Buffer.concat([
        ...Array.from({ length: 1_000 }, (_, index) => event(`/never/watched-${index}`, 1 + (index % 4))),
        event('', 2),
        event('/x', 77),
        framed(frame),
      ]),
    }));
    const mutex = new InterProcessMutex(client, lab.path);
    const hold = await mutex.acquire();
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
    expect(warnings).to.deep.equal([]);
  });

  it('with an unknown error code fails the call with that code', async () => {
    const client = await connect();
    once(lab.proxy, answered('create2'), { replaceError: -999 });
    const error = await rejection(new InterProcessMutex(client, lab.path).acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain('UNKNOWN (-999) from create2');
    await lab.queueReaches(0);
  });
});

describe('the longest list that is read', function () {
  this.timeout(60_000);
  for (const [what, name] of [
    ['with the names of waiters', waiterName],
    ['with short names', (index: number) => `lock-${index}`],
  ] as const)
    it(`${what} is read and sorted without a long block of the event loop`, async () => {
      const each = 4 + waiterName(0).length;
      const count = name === waiterName ? Math.min(131_072, Math.floor((longestFrame - 90) / each)) : 131_072;
      const order = shuffled(count);
      const bytes = Buffer.concat([names(count, (index) => name(order[index] ?? 0)).frame(), Buffer.alloc(statBytes)]);
      expect(bytes.length).to.be.below(longestFrame);
      const queues = async (): Promise<void> => {
        const list = getChildren('/').read(new Reader(bytes, 4));
        new Listing(list, 1n).queue(standardDriver);
        await Promise.resolve();
      };
      const { blockMs } = await costOf(`the longest list ${what}`, queues, mostBlockOfListMs);
      expect(blockMs).to.be.below(mostBlockOfListMs);
    });
});

/** The numbers from 0 without an order, because a server lists children by the hashes of their names. */
function shuffled(count: number): number[] {
  const random = new Random(1, 0);
  const numbers = Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last -= 1) {
    const at = random.whole(last + 1);
    [numbers[last], numbers[at]] = [numbers[at] ?? 0, numbers[last] ?? 0];
  }
  return numbers;
}
