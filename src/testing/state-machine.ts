import { DataTree, type Moment } from './data-tree.js';
import { readChange, readItems, type ChangeRequest, type Items } from './change-request.js';
import type { Identity } from './identity.js';
import { JuteReader, JuteWriter } from './jute.js';
import { errorType, opcodes, xids } from './opcodes.js';
import { Plan } from './plan.js';
import { readAnswers, type Reading } from './read-answers.js';
import { Refusal } from './refusal.js';
import { apply, resultType, type Transaction } from './transaction.js';
import { watchAnswers } from './watch-answers.js';
import type { WatchEvent } from './watch-table.js';

/**
 * The whole server without its sockets, sessions and timers. The answer and the events are a function of the earlier
 * requests, this request, and the time.
 */
export class StateMachine {
  readonly tree = new DataTree();
  readonly #options: StateMachineOptions;
  readonly #writer = new JuteWriter();
  #zxid = 0;
  /** The zxid of the last transaction, carried out or refused. */
  #processed = 0;

  constructor(options: StateMachineOptions) {
    this.#options = options;
  }

  get zxid(): number {
    return this.#processed;
  }

  /** @param body the frame after its length and its header */
  answer(caller: Caller, xid: number, opcode: number, body: Buffer, time: number): Outcome {
    const reader = new JuteReader(body, this.#options.maxBufferBytes * 2);
    const answer = this.#answer(caller, xid, opcode, reader, time);
    return { events: this.tree.takeEvents(), answer };
  }

  /** Opens a session: a transaction without an answer of its own. */
  openSession(): void {
    this.#zxid += 1;
    this.#processed = this.#zxid;
  }

  /** Ends a session: at the request of its client, whose answer has `xid`, or by its timeout. */
  closeSession(sessionId: bigint, xid = 0): Outcome {
    this.openSession();
    this.tree.deleteEphemerals(sessionId, this.#processed);
    return { events: this.tree.takeEvents(), answer: this.#header(xid, this.#processed, 0).frame() };
  }

  /** Deletes the empty containers, and the znodes whose time to live is over. */
  reap(time: number): readonly WatchEvent[] {
    for (const path of this.tree.reapable(time)) {
      this.openSession();
      this.tree.delete(path, this.#processed);
    }
    return this.tree.takeEvents();
  }

  /** An answer that is a header and nothing else. */
  bare(xid: number, zxid: number, error: number): Buffer {
    return this.#header(xid, zxid, error).frame();
  }

  #answer(caller: Caller, xid: number, opcode: number, reader: JuteReader, time: number): Buffer | undefined {
    try {
      if (changes.has(opcode)) return this.#change(caller, xid, opcode, reader, time);
      if (opcode === opcodes.multi) return this.#multi(caller, xid, reader, time);
      if (opcode === opcodes.deleteContainer || opcode === opcodes.reconfig)
        return this.#refuseInternal(xid, opcode, reader);
      if (opcode === opcodes.ping) return this.bare(xids.ping, this.#processed, 0);
      return this.#read(caller, xid, opcode, reader);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.bare(xid, this.#processed, error.number);
    }
  }

  #read(caller: Caller, xid: number, opcode: number, reader: JuteReader): Buffer {
    const answer = readAnswers.get(opcode) ?? watchAnswers.get(opcode);
    if (!answer) throw Refusal.of('UNIMPLEMENTED');
    const writer = this.#header(xid, this.#processed, 0);
    const { sessionId, identities } = caller;
    const reading: Reading = { tree: this.tree, watcher: caller, sessionId, identities, reader, writer };
    answer(reading);
    return writer.frame();
  }

  #change(caller: Caller, xid: number, opcode: number, reader: JuteReader, time: number): Buffer | undefined {
    // Counted before the request is read or checked, because a refused change is a transaction, too.
    const moment = this.#next(time);
    const request = readChange(opcode, reader);
    if (!request) throw Refusal.of('MARSHALLING_ERROR');
    const transaction = this.#plan(caller).check(request);
    const writer = this.#header(xid, moment.zxid, 0);
    apply(transaction, this.tree, moment, writer);
    // The Java server has no Stat for the answer, and sends no answer.
    return transaction.is === 'check' ? undefined : writer.frame();
  }

  #multi(caller: Caller, xid: number, reader: JuteReader, time: number): Buffer {
    const before = this.#processed;
    const moment = this.#next(time);
    const items = readItems(reader);
    if (hasNullPath(items)) {
      // The Java server fails before it creates a transaction, and answers with an empty list after the error.
      this.#processed = before;
      return this.#header(xid, before, Refusal.of('MARSHALLING_ERROR').number).int(-1).flag(true).int(-1).frame();
    }
    if (items.are === 'reads') throw Refusal.of('MARSHALLING_ERROR');
    const transactions = this.#checkAll(this.#plan(caller), items.changes);
    const failedAt = transactions.findIndex((transaction) => transaction instanceof Refusal);
    const writer = this.#header(xid, moment.zxid, 0);
    transactions.forEach((transaction, index) => {
      const error = failedAt === -1 || index < failedAt ? 0 : Refusal.of('RUNTIME_INCONSISTENCY').number;
      if (transaction instanceof Refusal) writeItemError(writer, transaction.number);
      else if (failedAt !== -1 || transaction === undefined) writeItemError(writer, error);
      else apply(transaction, this.tree, moment, writer.int(resultType(transaction)).flag(false).int(0));
    });
    return writer.int(-1).flag(true).int(-1).frame();
  }

  /** Checks the requests up to the first refusal. The results of the later requests are undefined. */
  #checkAll(plan: Plan, requests: readonly ChangeRequest[]): (Transaction | Refusal | undefined)[] {
    let isRefused = false;
    return requests.map((request) => {
      if (isRefused) return undefined;
      try {
        return plan.check(request);
      } catch (error) {
        if (!(error instanceof Refusal) || error === Refusal.of('MARSHALLING_ERROR')) throw error;
        isRefused = true;
        return error;
      }
    });
  }

  /**
   * No client may send these requests: only a server itself deletes containers, and a single server has no other
   * members.
   */
  #refuseInternal(xid: number, opcode: number, reader: JuteReader): Buffer {
    if (opcode === opcodes.reconfig) {
      for (let left = 3; left > 0; left -= 1) reader.text();
      reader.long();
    }
    this.#next(0);
    const error = opcode === opcodes.reconfig ? 'RECONFIG_DISABLED' : 'BAD_ARGUMENTS';
    return this.bare(xid, this.#processed, Refusal.of(error).number);
  }

  #plan({ sessionId, identities }: Caller): Plan {
    return new Plan(this.tree, { sessionId, identities }, this.#options.extendedTypes);
  }

  #next(time: number): Moment {
    this.#zxid += 1;
    this.#processed = this.#zxid;
    return { zxid: this.#zxid, time };
  }

  #header(xid: number, zxid: number, error: number): JuteWriter {
    return this.#writer.reset().int(xid).count(zxid).int(error);
  }
}

/** The part of a connection with a session that its requests depend on. Watches belong to this object. */
export interface Caller {
  readonly sessionId: bigint;
  readonly identities: readonly Identity[];
}

/** The frames to send, events first: no client may see a change in an answer before it gets the event. */
export interface Outcome {
  readonly events: readonly WatchEvent[];
  /** A frame; undefined if the Java server sends no answer. */
  readonly answer: Buffer | undefined;
}

export interface StateMachineOptions {
  /** True lets znodes have a time to live: ZooKeeper's `extendedTypesEnabled`. */
  readonly extendedTypes: boolean;
  /** ZooKeeper's `jute.maxbuffer`. */
  readonly maxBufferBytes: number;
}

const changes = new Set<number>([
  opcodes.create,
  opcodes.create2,
  opcodes.createContainer,
  opcodes.createTTL,
  opcodes.delete,
  opcodes.setData,
  opcodes.setACL,
  opcodes.check,
]);

function hasNullPath(items: Items): boolean {
  const all: readonly { path: string | null }[] = items.are === 'reads' ? items.reads : items.changes;
  return all.some(({ path }) => path === null);
}

function writeItemError(writer: JuteWriter, error: number): void {
  writer.int(errorType).flag(false).int(error).int(error);
}
