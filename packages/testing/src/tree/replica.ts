import { DataTree } from './data-tree.js';
import type { Identity } from '../wire/identity.js';
import { JuteReader, JuteWriter } from '../wire/jute.js';
import { errorType, opcodes, xids } from '../wire/opcodes.js';
import type { Change, Proposal } from './proposal.js';
import { errorPlace, readAnswers, type Reading } from './read-answers.js';
import { Refusal } from '../wire/refusal.js';
import { apply, resultType } from './transaction.js';
import { watchAnswers } from './watch-answers.js';
import type { ServerVersion } from './watch-table.js';

/** One member's copy of the data: it applies proposals in their order, and answers reads. */
export class Replica {
  readonly tree: DataTree;
  readonly #maxBufferBytes: number;
  readonly #writer = new JuteWriter();
  #zxid = 0;

  constructor(maxBufferBytes: number, version: ServerVersion) {
    this.#maxBufferBytes = maxBufferBytes;
    this.tree = new DataTree(version);
  }

  /** The zxid of the last transaction, carried out or refused. */
  get zxid(): number {
    return this.#zxid;
  }

  /** A leader starts its epoch with a zxid of its own, before its first transaction. */
  startEpoch(zxid: number): void {
    this.#zxid = zxid;
  }

  /**
   * Carries out the change. Returns the frame that answers the request with this xid; undefined if the Java server
   * sends no answer, or if no client of this member waits for one.
   */
  apply({ zxid, time, change }: Proposal, xid?: number): Buffer | undefined {
    if (change.is !== 'failed') this.#zxid = zxid;
    const writer = xid === undefined ? undefined : this.#header(xid, this.#zxid, 0);
    switch (change.is) {
      case 'transaction':
        apply(change.transaction, this.tree, { zxid, time }, writer);
        // The Java server has no Stat for the answer, and sends no answer.
        return change.transaction.is === 'check' ? undefined : writer?.frame();
      case 'multi':
        this.#applyAll(change, { zxid, time }, writer);
        return writer?.int(-1).flag(true).int(-1).frame();
      case 'refused':
        return writer?.replaceInt(errorPlace, change.refusal.number).frame();
      case 'failed':
        writer?.replaceInt(errorPlace, change.refusal.number);
        return (change.hasResults ? writer?.int(-1).flag(true).int(-1) : writer)?.frame();
      case 'openSession':
        return undefined;
      case 'closeSession':
        this.tree.deleteEphemerals(change.sessionId, zxid);
        return writer?.frame();
    }
  }

  /**
   * Answers a request that changes nothing.
   *
   * @param body the frame after its length and its header
   */
  read(caller: Caller, xid: number, opcode: number, body: Buffer): Buffer {
    if (opcode === opcodes.ping) return this.bare(xids.ping, this.#zxid, 0);
    try {
      const answer = readAnswers.get(opcode) ?? watchAnswers.get(opcode);
      if (!answer) throw Refusal.of('UNIMPLEMENTED');
      const reader = new JuteReader(body, this.#maxBufferBytes * 2);
      const writer = this.#header(xid, this.#zxid, 0);
      const { sessionId, identities } = caller;
      const reading: Reading = { tree: this.tree, watcher: caller, sessionId, identities, reader, writer };
      answer(reading);
      return writer.frame();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.bare(xid, this.#zxid, error.number);
    }
  }

  /** An answer that is a header and nothing else. */
  bare(xid: number, zxid: number, error: number): Buffer {
    return this.#header(xid, zxid, error).frame();
  }

  #applyAll({ items }: Change & { is: 'multi' }, moment: { zxid: number; time: number }, writer?: JuteWriter): void {
    const failedAt = items.findIndex((item) => item instanceof Refusal);
    items.forEach((item, index) => {
      const error = failedAt === -1 || index < failedAt ? 0 : Refusal.of('RUNTIME_INCONSISTENCY').number;
      if (item instanceof Refusal) writeItemError(writer, item.number);
      else if (failedAt !== -1 || item === undefined) writeItemError(writer, error);
      else apply(item, this.tree, moment, writer?.int(resultType(item)).flag(false).int(0));
    });
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

function writeItemError(writer: JuteWriter | undefined, error: number): void {
  writer?.int(errorType).flag(false).int(error).int(error);
}
