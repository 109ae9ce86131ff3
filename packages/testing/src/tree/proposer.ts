import { readChange, readItems, type ChangeRequest, type Items } from '../wire/change-request.js';
import { JuteReader } from '../wire/jute.js';
import { opcodes } from '../wire/opcodes.js';
import { Plan, type Asker, type PlannedState } from './plan.js';
import type { Change, Proposal } from './proposal.js';
import { Refusal } from '../wire/refusal.js';
import type { Transaction } from './transaction.js';
import type { ServerVersion } from './watch-table.js';

/** Decides requests for changes, one after another: a server that is alone, or the leader of an ensemble. */
export class Proposer {
  readonly #state: DecidedState;
  readonly #options: ProposerOptions;
  #zxid: number;

  /** @param zxid the newest zxid so far */
  constructor(state: DecidedState, options: ProposerOptions, zxid = 0) {
    this.#state = state;
    this.#options = options;
    this.#zxid = zxid;
  }

  /** @param body the frame after its length and its header */
  propose(asker: Asker, opcode: number, body: Buffer, time: number): Proposal {
    const reader = new JuteReader(body, this.#options.maxBufferBytes * 2);
    if (opcode === opcodes.deleteContainer || opcode === opcodes.reconfig) return this.#refuseInternal(opcode, reader);
    // Counted before the request is read or checked, because a refused change is a transaction, too.
    const zxid = this.#next();
    const plan = new Plan(this.#state, asker, this.#options.extendedTypes);
    try {
      const change = opcode === opcodes.multi ? planMulti(plan, reader) : planChange(plan, opcode, reader);
      if (isMade(change)) this.#state.decided?.(zxid, plan.changed);
      return { zxid, time, change };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { zxid, time, change: { is: 'refused', refusal: error } };
    }
  }

  openSession(sessionId: bigint, timeoutMs: number): Proposal {
    return { zxid: this.#next(), time: 0, change: { is: 'openSession', sessionId, timeoutMs } };
  }

  closeSession(sessionId: bigint): Proposal {
    return { zxid: this.#next(), time: 0, change: { is: 'closeSession', sessionId } };
  }

  /** Deletes a znode on the server's own behalf. Nothing is checked. */
  delete(path: string): Proposal {
    return { zxid: this.#next(), time: 0, change: { is: 'transaction', transaction: { is: 'delete', path } } };
  }

  /**
   * No client may send these requests: only a server itself deletes containers, and the members of an ensemble do not
   * change.
   */
  #refuseInternal(opcode: number, reader: JuteReader): Proposal {
    try {
      if (opcode === opcodes.reconfig) {
        for (let left = 3; left > 0; left -= 1) reader.text();
        reader.long();
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { zxid: this.#zxid, time: 0, change: { is: 'failed', refusal: error, hasResults: false } };
    }
    const refusal = Refusal.of(opcode === opcodes.reconfig ? 'RECONFIG_DISABLED' : 'BAD_ARGUMENTS');
    return { zxid: this.#next(), time: 0, change: { is: 'refused', refusal } };
  }

  #next(): number {
    this.#zxid += 1;
    return this.#zxid;
  }
}

/** The znodes as the next change will find them. */
export interface DecidedState extends PlannedState {
  /** A proposal was made that will change these znodes. Missing if each proposal is applied before the next one. */
  decided?(zxid: number, changed: Plan['changed']): void;
}

export interface ProposerOptions {
  readonly version: ServerVersion;
  /** True lets znodes have a time to live: ZooKeeper's `extendedTypesEnabled`. */
  readonly extendedTypes: boolean;
  /** ZooKeeper's `jute.maxbuffer`. */
  readonly maxBufferBytes: number;
}

/** True if the request is decided by the leader, and not answered from a member's own tree. */
export function isChange(opcode: number): boolean {
  return changes.has(opcode);
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
  opcodes.multi,
  opcodes.deleteContainer,
  opcodes.reconfig,
]);

function planChange(plan: Plan, opcode: number, reader: JuteReader): Change {
  const request = readChange(opcode, reader);
  if (!request) throw Refusal.of('MARSHALLING_ERROR');
  return { is: 'transaction', transaction: plan.check(request) };
}

function planMulti(plan: Plan, reader: JuteReader): Change {
  const items = readItems(reader);
  if (hasNullPath(items)) return { is: 'failed', refusal: Refusal.of('MARSHALLING_ERROR'), hasResults: true };
  if (items.are === 'reads') throw Refusal.of('MARSHALLING_ERROR');
  return { is: 'multi', items: checkAll(plan, items.changes) };
}

/** Checks the requests up to the first refusal. The results of the later requests are undefined. */
function checkAll(plan: Plan, requests: readonly ChangeRequest[]): (Transaction | Refusal | undefined)[] {
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

/** False if the proposal changes no znode. */
function isMade(change: Change): boolean {
  return (
    change.is === 'transaction' || (change.is === 'multi' && !change.items.some((item) => item instanceof Refusal))
  );
}

function hasNullPath(items: Items): boolean {
  const all: readonly { path: string | null }[] = items.are === 'reads' ? items.reads : items.changes;
  return all.some(({ path }) => path === null);
}
