import type { Frame } from '../../lab/proxy/zk-frame.ts';
import { errors, opcodes } from '../../lab/wire/opcodes.ts';
import { RecordReader } from '../../lab/wire/record.ts';
import type { Transaction } from '../wiretap.ts';
import type { Bench } from './bench.ts';

/**
 * No request that changes something is sent twice. A client sends the create of a lock's znode and each transaction
 * again only when the servers have refused it, for example by THROTTLED_OP. A write that names the version of the data is
 * sent again also when its connection ended before the answer came, because the servers do one of the two.
 *
 * Two calls may create the same parent, write the same mark, or delete the same znode by force. These are not judged.
 */
export class SentOnce {
  readonly #bench: Bench;
  /** The requests of each client that were sent and not refused, by their content. */
  readonly #sent = new WeakMap<object, Map<string, Sent>>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  sent(client: Named, { op, path = '', body, isOnItsWay }: Transaction): void {
    const repetition = repetitionOf(body);
    if (repetition === 'harmless') return;
    const sent = this.#sent.get(client) ?? new Map<string, Sent>();
    this.#sent.set(client, sent);
    const before = sent.get(contentOf(body));
    if (before && (repetition === 'forbidden' || before.isDone || before.isOnItsWay()))
      this.#bench.tell('once', `${client.name} sends the ${op} of ${path} again`);
    sent.set(contentOf(body), { isOnItsWay, isDone: false });
  }

  /** The client gets the answer to the request. */
  answered(client: Named, request: Buffer, { err = 0, body }: Pick<Frame, 'err' | 'body'>): void {
    const sent = this.#sent.get(client);
    const answered = sent?.get(contentOf(request));
    if (answered === undefined) return;
    if (isRefusal(err) || isRefusedMulti(request, err, body)) sent?.delete(contentOf(request));
    else answered.isDone = err === 0;
  }
}

interface Sent extends Pick<Transaction, 'isOnItsWay'> {
  isDone: boolean;
}

interface Named {
  readonly name: string;
}

/** `after-loss`: the request may be sent again when its connection has ended without the answer. */
type Repetition = 'forbidden' | 'after-loss' | 'harmless';

function repetitionOf(body: Buffer): Repetition {
  const from = new RecordReader(body, xidBytes);
  const op = from.int();
  if (op !== opcodes.multi) return repetitionOfOne(op, from);
  const parts: Repetition[] = [];
  for (let part = from.int(); part !== endOfMulti; part = from.int()) {
    from.flag();
    from.int();
    // The version of another znode does not keep a create or a delete from happening twice.
    const repetition = repetitionOfOne(part, from);
    parts.push(changes.has(part) && part !== opcodes.setData ? 'forbidden' : repetition);
  }
  return (['forbidden', 'after-loss'] as const).find((repetition) => parts.includes(repetition)) ?? 'harmless';
}

function repetitionOfOne(op: number, from: RecordReader): Repetition {
  from.text();
  switch (op) {
    case opcodes.delete:
    case opcodes.check:
      from.int();
      return 'harmless';
    case opcodes.setData:
      from.bytes();
      return from.int() === anyVersion ? 'harmless' : 'after-loss';
    default: {
      from.bytes();
      from.vector(() => [from.int(), from.text(), from.text()]);
      const mode = from.int();
      if (op === opcodes.createTTL) from.long();
      return modesOfParents.includes(mode) ? 'harmless' : 'forbidden';
    }
  }
}

/** The servers have done nothing. An answer about the session does not say so. */
function isRefusal(error: number): boolean {
  return error <= firstOfRequest && error !== errors.SESSION_EXPIRED && error !== errors.SESSION_MOVED;
}

function isRefusedMulti(request: Buffer, error: number, answer: Buffer): boolean {
  const isMulti = request.readInt32BE(xidBytes) === opcodes.multi;
  return isMulti && error === 0 && answer.readInt32BE(replyHeaderBytes) === errorResult;
}

function contentOf(body: Buffer): string {
  return body.toString('latin1', xidBytes);
}

const changes: ReadonlySet<number> = new Set([
  opcodes.create,
  opcodes.create2,
  opcodes.createContainer,
  opcodes.createTTL,
  opcodes.delete,
  opcodes.setData,
]);
/** Persistent, and container. */
const modesOfParents: readonly number[] = [0, 4];
const xidBytes = 4;
const replyHeaderBytes = 16;
const endOfMulti = -1;
const errorResult = -1;
const anyVersion = -1;
/** The errors from here on are about the request and not about the server. */
const firstOfRequest = -100;
