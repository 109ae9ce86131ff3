import {
  LockLostError,
  NotOwnedError,
  OutcomeUnknownError,
  RequestFailedError,
  type GuardedTransaction,
} from '../../src/index.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';
import { isOrdered, olderThan } from './order.ts';

/**
 * Guarded writes: the servers do each while the znode of its hold exists and is the lock's first, once at most. The
 * outcome that the application gets is true: done, not done, or unknown. Each write creates a sequential znode of its
 * own, so a write that was done twice leaves two.
 */
export class GuardedWrites {
  readonly #bench: Bench;
  readonly #wrote: (claim: Claim, order: number) => void;
  readonly #writes = new Map<string, GuardedWrite>();
  done = 0;

  /** @param wrote called for each hold of a write that is done. `order`: the place among all writes on the servers */
  constructor(bench: Bench, wrote: (claim: Claim, order: number) => void) {
    this.#bench = bench;
    this.#wrote = wrote;
  }

  /** @param claims the hold, or the holds of a multi-lock */
  begin(claims: readonly Claim[], fails: boolean): GuardedWrite {
    const prefix = `${folder}${this.#writes.size}-`;
    const write: GuardedWrite = { prefix, claims, fails, created: [], outcome: 'pending' };
    this.#writes.set(prefix, write);
    return write;
  }

  /** A client sends a transaction. The hold of a write has not been released before. */
  sent(body: Buffer): void {
    const at = body.indexOf(folder);
    if (at < 0) return;
    const [prefix = ''] = /^\/written-\d+-/.exec(body.toString('latin1', at, at + longestPrefix)) ?? [];
    const write = this.#writes.get(prefix);
    const released = write?.claims.find(({ isReleased }) => isReleased);
    if (write && released) this.#tell(write, `is sent after the release of ${nameOf(released)}`);
  }

  /** The servers have committed the creation of this znode. */
  created(path: string): void {
    if (!path.startsWith(folder)) return;
    const write = this.#writes.get(path.slice(0, -sequenceDigits));
    if (write === undefined) return;
    write.created.push(path);
    this.done += 1;
    if (write.created.length > 1) this.#tell(write, 'was done twice');
    if (write.outcome === 'not done') this.#tell(write, 'was done after the application was told that it was not');
    for (const claim of write.claims) this.#judgeHold(write, claim);
  }

  /** @param path the znode that the write has created, as the application got it */
  succeeded(write: GuardedWrite, path: string): void {
    write.outcome = 'done';
    if (write.fails) this.#tell(write, 'is said to be done, although one of its operations had to fail');
    if (write.created.length !== 1 || write.created[0] !== path)
      this.#tell(write, `is said to have created ${path}, but has created ${write.created.join(', ') || 'nothing'}`);
  }

  /** Returns false for an error that no commit may reject with. */
  failed(write: GuardedWrite, error: unknown): boolean {
    if (error instanceof OutcomeUnknownError) {
      write.outcome = 'unknown';
      return true;
    }
    const isRefused = error instanceof RequestFailedError;
    if (!isRefused && !(error instanceof LockLostError) && !(error instanceof NotOwnedError)) return false;
    write.outcome = 'not done';
    if (error instanceof LockLostError && !write.claims.some(({ isTold, isReleased }) => isTold || isReleased))
      this.#tell(write, 'was refused because its lock is lost, and its hold was not told');
    if (write.created.length > 0) this.#tell(write, `was done, although its commit said ${error.code}`);
    if (isRefused && (!write.fails || error.operation?.name !== 'check'))
      this.#tell(write, `was refused because of ${error.operation?.name ?? 'its guard'}: ${error.message}`);
    return true;
  }

  #judgeHold(write: GuardedWrite, claim: Claim): void {
    const { committed } = this.#bench;
    if (committed().ownerOf(claim.path) !== claim.sessionId)
      this.#tell(write, 'was done although the znode of its hold is gone');
    const older = isOrdered(claim) ? olderThan(claim, this.#bench) : undefined;
    if (older !== undefined) this.#tell(write, `was done while ${older} is before its hold`);
    this.#wrote(claim, this.done);
  }

  #tell({ prefix, claims }: GuardedWrite, text: string): void {
    this.#bench.tell('guarded', `the write ${prefix} of ${claims.map(nameOf).join(' and ')} ${text}`);
  }
}

/** One transaction of a hold. */
export interface GuardedWrite {
  /** The path of the znode that it creates, without the number that the servers append. */
  readonly prefix: string;
  readonly claims: readonly Claim[];
  readonly fails: boolean;
  /** The znodes that the servers have created for it. */
  readonly created: string[];
  outcome: 'pending' | 'done' | 'not done' | 'unknown';
}

/** The transaction of a write. The version of an operation that must fail is none that a znode has. */
export function operationsOf(
  write: GuardedWrite,
  transaction: GuardedTransaction,
): GuardedTransaction<[string, undefined]> {
  return transaction
    .create(write.prefix, Buffer.from('written'), { mode: 'persistent-sequential' })
    .check('/', write.fails ? { version: 1_000_000 } : {});
}

/** The root exists always, so nothing but the guard keeps a write out. */
const folder = '/written-';
const sequenceDigits = 10;
const longestPrefix = 40;
