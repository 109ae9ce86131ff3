import type { Proposal } from './proposal.js';
import { isChange, Proposer, type ProposerOptions } from './proposer.js';
import { Replica, type Caller } from './replica.js';
import type { DataTree } from './data-tree.js';
import type { WatchEvent } from './watch-table.js';

/**
 * The whole server without its sockets, sessions and timers. The answer and the events are a function of the earlier
 * requests, this request, and the time. It is alone, so it applies each proposal at once.
 */
export class StateMachine {
  readonly #replica: Replica;
  readonly #proposer: Proposer;

  constructor(options: ProposerOptions) {
    this.#replica = new Replica(options.maxBufferBytes, options.version);
    this.#proposer = new Proposer(this.tree, options);
  }

  get tree(): DataTree {
    return this.#replica.tree;
  }

  /** The zxid of the last transaction, carried out or refused. */
  get zxid(): number {
    return this.#replica.zxid;
  }

  /** @param body the frame after its length and its header */
  answer(caller: Caller, xid: number, opcode: number, body: Buffer, time: number): Outcome {
    if (isChange(opcode)) return this.#apply(this.#proposer.propose(caller, opcode, body, time), xid);
    const answer = this.#replica.read(caller, xid, opcode, body);
    return { events: this.tree.takeEvents(), answer };
  }

  /** Opens a session: a transaction without an answer of its own. */
  openSession(sessionId: bigint, timeoutMs: number): void {
    this.#apply(this.#proposer.openSession(sessionId, timeoutMs));
  }

  /** Ends a session: at the request of its client, whose answer has `xid`, or by its timeout. */
  closeSession(sessionId: bigint, xid?: number): Outcome {
    return this.#apply(this.#proposer.closeSession(sessionId), xid);
  }

  /** Deletes the empty containers, and the znodes whose time to live is over. */
  reap(time: number): readonly WatchEvent[] {
    for (const path of this.tree.reapable(time)) this.#replica.apply(this.#proposer.delete(path));
    return this.tree.takeEvents();
  }

  /** An answer that is a header and nothing else. */
  bare(xid: number, zxid: number, error: number): Buffer {
    return this.#replica.bare(xid, zxid, error);
  }

  #apply(proposal: Proposal, xid?: number): Outcome {
    const answer = this.#replica.apply(proposal, xid);
    return { events: this.tree.takeEvents(), answer };
  }
}

/** The frames to send, events first: no client may see a change in an answer before it gets the event. */
export interface Outcome {
  readonly events: readonly WatchEvent[];
  /** A frame; undefined if the Java server sends no answer. */
  readonly answer: Buffer | undefined;
}
