import { abort } from '../support/no-context.js';
import { systemClock } from '../support/clock.js';
import { showByJson } from '../support/shown.js';
import { LockLostError, NotOwnedError } from '../internals/lock-errors.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import { abortHubs } from '../support/abort-hubs.js';
import { checkLeaseMs } from '../mutex/acquire-options.js';
import { HoldLease, type LeaseTerms } from '../mutex/hold-lease.js';
import { Hold } from '../mutex/hold.js';
import type { PartHold } from './part-of-multi-lock.js';

/**
 * Several holds as one: valid as long as all of them are, lost when any is.
 *
 * @example
 * await using hold = await new InterProcessMultiLock([from, to]).acquire({ timeoutMs: 5_000 });
 * await transfer(hold.signal);
 */
export class MultiHold<Part extends PartHold = PartHold> implements AsyncDisposable {
  /** All of them, in the order in which they were acquired. */
  readonly holds: readonly Part[];
  readonly #paths: string;
  readonly #released: () => void;
  #state: MultiHoldState = { at: 'open' };
  #aborter: AbortController | undefined;
  #lease: HoldLease | undefined;
  readonly #stops: (() => void)[] = [];

  /** @internal */
  constructor(holds: readonly Part[], paths: string, terms: LeaseTerms | undefined, released: () => void) {
    this.holds = holds;
    this.#paths = paths;
    this.#released = released;
    if (terms) this.#comeUnder(new HoldLease(systemClock, terms));
  }

  /**
   * Whether all locks are certainly still held, judged now. Once false, it is always false. It is false after a
   * release, too.
   */
  get isValid(): boolean {
    return this.#state.at === 'open' && !this.#lease?.isOver && this.holds.every((hold) => hold.isValid);
  }

  /** As of a {@link Hold}: of the lock that ends first. Locks of your own count if their holds have it, too. */
  get remainingMs(): number {
    if (!this.isValid) return 0;
    const parts = this.holds.map((hold) => (hold as { remainingMs?: number }).remainingMs ?? Infinity);
    return Math.max(0, Math.min(...parts, (this.#lease?.endsAt ?? Infinity) - systemClock.now()));
  }

  /**
   * Aborts with the LockLostError of the first hold that is lost before they are released. A normal release does not
   * abort it.
   */
  get signal(): AbortSignal {
    const aborter = (this.#aborter ??= this.#newAborter());
    // A listener of one of the holds may look before this one is told.
    const { loss } = this;
    if (loss && !aborter.signal.aborted) abort(aborter, loss);
    return aborter.signal;
  }

  /**
   * Throws unless all holds are valid.
   *
   * @throws LockLostError when one is lost
   * @throws NotOwnedError when they were released before
   * @example
   * hold.assertValid();
   */
  assertValid(): void {
    if (!this.isValid)
      throw (
        this.loss ??
        new NotOwnedError(
          this.#paths,
          `You do not own the lock: ${this.#paths}: this hold was released${this.#releasedAgo}`,
        )
      );
  }

  /**
   * As of a {@link Hold}: the lease of all of them lasts `leaseMs` from now on.
   *
   * @param leaseMs milliseconds ≥ 1
   * @throws LockLostError or NotOwnedError when they have ended
   * @throws TypeError or RangeError when `leaseMs` is no such number, or not longer than `renewEveryMs`
   * @example
   * hold.renew(30_000);
   */
  renew(leaseMs: number): void {
    checkLeaseMs('leaseMs', leaseMs);
    this.assertValid();
    if (this.#lease) this.#lease.renew(leaseMs);
    else this.#comeUnder(new HoldLease(systemClock, { leaseMs }));
  }

  /**
   * Lets go of all, in the reverse of the order in which they were acquired, past those that fail. The outcome is
   * decided when it is called: `lost`
   * if one was not certainly held any more. Calling it again returns the same promise.
   *
   * @throws what the release of a lock of your own throws, when all are released; those of this library never do
   * @example
   * if ((await hold.release()) === 'lost') await checkWhatWasWritten();
   */
  release(): Promise<ReleaseOutcome> {
    // Judged while they are open: a loss that is noticed only now still aborts the signal, and who hears of that may
    // release it as well.
    const { loss } = this;
    if (this.#state.at === 'released') return this.#state.outcome;
    const outcome = this.#state.at === 'expired' ? releaseAll(this.#ours).then(() => lost) : releaseAll(this.holds);
    this.#state = { at: 'released', outcome, loss, since: systemClock.now() };
    this.#released();
    for (const stop of this.#stops.splice(0)) stop();
    return outcome;
  }

  /** `release()`: what `await using` calls. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /**
   * What `console.log` and `JSON.stringify` show: whether all locks are still held, and the hold of each, tokens as
   * text.
   */
  toJSON(): object {
    const { isValid, loss } = this;
    const state = isValid ? { state: 'held' } : loss ? { state: 'lost', reason: loss.reason } : { state: 'released' };
    // The hold of a lock of another make may have anything in it.
    return {
      ...state,
      holds: this.holds.map((hold) => (hold instanceof Hold ? hold.toJSON() : { isValid: hold.isValid })),
    };
  }

  static {
    showByJson(this, 'MultiHold');
  }

  /** @internal Why it was lost, if that was before it was released. */
  get loss(): LockLostError | undefined {
    if (this.#lease?.isOver) this.leaseEnded(this.#lease);
    if (this.#state.at !== 'open') return this.#state.loss;
    const lost = this.holds.find((hold) => !hold.isValid);
    return lost?.signal.aborted ? (lost.signal.reason as LockLostError) : undefined;
  }

  /** @internal */
  onExpired(listener: (error: LockLostError) => void): void {
    const told = (reason: unknown): void => {
      if (reason instanceof LockLostError && reason.reason === 'lease-expired') listener(reason);
    };
    if (this.signal.aborted) told(this.signal.reason);
    else abortHubs.onAbort(this.signal, told);
  }

  /** @internal */
  leaseEnded({ leaseMs }: HoldLease): void {
    if (this.#state.at !== 'open') return;
    const loss = new LockLostError(
      this.#paths,
      'lease-expired',
      {},
      `its lease of ${leaseMs} ms ended without a renewal`,
    );
    this.#state = { at: 'expired', loss };
    for (const stop of this.#stops.splice(0)) stop();
    if (this.#aborter) abort(this.#aborter, loss);
    // Ours end by the same lease; those of locks of another make know nothing of it, and need not bear to be released
    // twice.
    releaseAll(this.holds.filter((hold) => !(hold instanceof Hold))).catch(() => undefined);
  }

  /** @internal */
  leaseRenewed(): void {
    // Nobody listens.
  }

  get #releasedAgo(): string {
    return this.#state.at === 'released'
      ? ` ${Math.round((systemClock.now() - this.#state.since) * 10) / 10} ms ago`
      : '';
  }

  #newAborter(): AbortController {
    const aborter = new AbortController();
    if (this.#state.at === 'open' && !this.loss)
      this.#stops.push(...this.holds.map((hold) => abortHubs.onAbort(hold.signal, (reason) => abort(aborter, reason))));
    return aborter;
  }

  #comeUnder(lease: HoldLease): void {
    this.#lease = lease;
    const ours = this.#ours;
    // Ours leave it when they are lost; of the others nobody knows.
    this.#stops.push(lease.join(this, { keeps: ours.length < this.holds.length }));
    for (const hold of ours) hold.comeUnder(lease);
  }

  get #ours(): Hold[] {
    return this.holds.filter((hold) => hold instanceof Hold);
  }
}

type MultiHoldState =
  | { readonly at: 'open' }
  | { readonly at: 'expired'; readonly loss: LockLostError }
  | {
      readonly at: 'released';
      readonly outcome: Promise<ReleaseOutcome>;
      readonly loss: LockLostError | undefined;
      readonly since: number;
    };

const lost: ReleaseOutcome = 'lost';

/** In reverse, each asked in this very step; rejects with the first error when all have settled. */
export async function releaseAll(holds: readonly PartHold[]): Promise<ReleaseOutcome> {
  const releases = [...holds].reverse().map(async (hold) => hold.release());
  const settled = await Promise.allSettled(releases);
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
  return settled.every((one) => one.status === 'fulfilled' && one.value === 'released') ? 'released' : 'lost';
}
