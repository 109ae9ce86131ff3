import { abort } from '../support/no-context.js';
import type { Clock } from '../support/clock.js';
import { showByJson } from '../support/shown.js';
import { LockLostError } from '../client/report/lock-lost-error.js';
import { NotOwnedError } from '../internals/lock-errors.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import { abortHubs, newAborter } from '../support/abort-signal.js';
import { checkLeaseMs, type AcquireOptions } from '../mutex/acquire-options.js';
import { GuardedTransaction } from '../mutex/transaction/guarded-transaction.js';
import { HoldLease } from '../mutex/hold-lease.js';
import { Hold, type HoldKeeper } from '../mutex/hold.js';
import { settleWithin } from '../mutex/release-limit.js';

/**
 * Several holds as one: valid while all of them are valid, lost when any is lost.
 *
 * @example
 * await using hold = await new InterProcessMultiLock([from, to]).acquire({ timeoutMs: 5_000 });
 * await transfer(hold.signal);
 */
export class MultiHold<Part extends PartHold = PartHold> implements AsyncDisposable {
  /** The holds, in the order in which they were acquired. */
  readonly holds: readonly Part[];
  readonly #paths: string;
  readonly #clock: Clock;
  readonly #released: () => void;
  readonly #releaseTimeoutMs: number | undefined;
  #state: MultiHoldState = { at: 'open' };
  #aborter: AbortController | undefined;
  #lease: HoldLease | undefined;
  readonly #stops: (() => void)[] = [];

  /** For the locks of this library only. */
  constructor(...library: never);
  /** @internal */
  constructor(holds: readonly Part[], paths: string, options: AcquireOptions, clock: Clock, released: () => void);
  constructor(holds: readonly Part[], paths: string, options: AcquireOptions, clock: Clock, released: () => void) {
    this.holds = holds;
    this.#paths = paths;
    this.#clock = clock;
    this.#released = released;
    this.#releaseTimeoutMs = options.releaseTimeoutMs;
    const { leaseMs, renewEveryMs } = options;
    if (leaseMs !== undefined) this.#comeUnder(new HoldLease(clock, { leaseMs, renewEveryMs }));
  }

  /**
   * True while all locks are certainly still held, judged now. Once false, it stays false. It is false after a release,
   * too.
   */
  get isValid(): boolean {
    return this.#state.at === 'open' && !this.#lease?.isOver && this.holds.every((hold) => hold.isValid);
  }

  /**
   * Like {@link Hold.remainingMs}, for the lock that ends first. Locks of your own count if their holds have this
   * property, too.
   */
  get remainingMs(): number {
    if (!this.isValid) return 0;
    const parts = this.holds.map((hold) => (hold as { remainingMs?: number }).remainingMs ?? Infinity);
    return Math.max(0, Math.min(...parts, (this.#lease?.endsAt ?? Infinity) - this.#clock.now()));
  }

  /**
   * Aborts with the LockLostError of the first hold that is lost before the release. A normal release does not abort
   * it.
   */
  get signal(): AbortSignal {
    const aborter = (this.#aborter ??= this.#newAborter());
    // A listener of one of the holds may read this signal before this object has learned of the loss.
    const { loss } = this;
    if (loss && !aborter.signal.aborted) abort(aborter, loss);
    return aborter.signal;
  }

  /**
   * Throws unless all holds are valid.
   *
   * @throws LockLostError when one is lost
   * @throws NotOwnedError when this hold was released before
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
   * Like {@link Hold.renew}: sets the end of the lease of all holds to `leaseMs` from now.
   *
   * @param leaseMs milliseconds ≥ 1
   * @throws LockLostError or NotOwnedError when the holds have ended
   * @throws TypeError or RangeError when `leaseMs` is not such a number, or not longer than `renewEveryMs`
   * @example
   * hold.renew(30_000);
   */
  renew(leaseMs: number): void {
    checkLeaseMs('leaseMs', leaseMs);
    this.assertValid();
    if (this.#lease) this.#lease.renew(leaseMs);
    else this.#comeUnder(new HoldLease(this.#clock, { leaseMs }));
    this.leaseRenewed();
  }

  /**
   * Like {@link Hold.transaction}: begins a transaction that ZooKeeper does while the znodes of all holds exist, or not
   * at all.
   *
   * @throws TypeError unless all locks are locks of this library and of one client, because one session does a
   * transaction
   * @example
   * await hold.transaction().setData('/accounts/3', less).setData('/accounts/7', more).commit();
   */
  transaction(): GuardedTransaction {
    const guards = this.#ours.map((hold) => hold.guard);
    const [first] = guards;
    if (first === undefined || guards.length < this.holds.length || guards.some(({ host }) => host !== first.host))
      throw new TypeError(
        `Expected the locks ${this.#paths} to be locks of this library and of one client, because one session does a transaction. Use the transaction() of one of hold.holds`,
      );
    return new GuardedTransaction({
      host: first.host,
      session: first.session,
      paths: () => guards.flatMap(({ paths }) => paths()),
      claims: () => guards.flatMap(({ claims }) => claims()),
      queues: () => guards.flatMap(({ queues }) => queues()),
      assertValid: () => this.assertValid(),
      remainingMs: () => this.remainingMs,
      loss: () => this.loss,
      trace: first.trace,
      foundMissing: (path) => guards.find(({ paths }) => paths().includes(path))?.foundMissing(path),
    });
  }

  /**
   * Releases all holds in the reverse of the order in which they were acquired, and goes on if one fails. The outcome
   * is decided when the function is called: `lost` if one lock was not certainly held any more. The promise settles after
   * the `releaseTimeoutMs` of the acquire at the latest. A second call returns the same promise.
   *
   * @throws the error of a lock of your own, after all holds were released; the locks of this library never fail to
   * release
   * @example
   * if ((await hold.release()) === 'lost') await checkWhatWasWritten();
   */
  release(): Promise<ReleaseOutcome> {
    // Judged while the holds are open, so that a loss which is noticed only now still aborts the signal. A listener of
    // that signal may release this hold as well.
    const { loss } = this;
    if (this.#state.at === 'released') return this.#state.outcome;
    const late: ReleaseOutcome = this.isValid ? 'released' : 'lost';
    const isExpired = this.#state.at === 'expired';
    let settle: (outcome: Promise<ReleaseOutcome>) => void = () => undefined;
    const outcome = new Promise<ReleaseOutcome>((resolve) => (settle = resolve));
    // Before the holds are released, because a listener of one of them may release this hold again.
    this.#state = { at: 'released', outcome, loss, since: this.#clock.now() };
    const settled = isExpired ? releaseAll(this.#ours).then(() => lost) : releaseAll(this.holds);
    // Our holds have the same limit. For the holds of other locks that is unknown.
    settle(settleWithin(this.#releaseTimeoutMs, this.#clock, settled, () => late));
    this.#released();
    for (const stop of this.#stops.splice(0)) stop();
    return outcome;
  }

  /** Calls `release()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /**
   * Returns what `console.log` and `JSON.stringify` show: whether all locks are still held, and the hold of each, with
   * tokens as text.
   */
  toJSON(): object {
    const { isValid, loss } = this;
    const state = isValid ? { state: 'held' } : loss ? { state: 'lost', reason: loss.reason } : { state: 'released' };
    // The hold of a lock from elsewhere may contain anything.
    return {
      ...state,
      holds: this.holds.map((hold) => (hold instanceof Hold ? hold.toJSON() : { isValid: hold.isValid })),
    };
  }

  static {
    showByJson(this, 'MultiHold');
  }

  /** @internal Undefined if no lock is of this library. */
  get keeper(): HoldKeeper | undefined {
    return this.#ours[0]?.keeper;
  }

  /** @internal Why this hold was lost, if that happened before its release. */
  get loss(): LockLostError | undefined {
    if (this.#lease?.isOver) this.leaseEnded(this.#lease);
    if (this.#state.at !== 'open') return this.#state.loss;
    const lost = this.holds.find((hold) => !hold.isValid && hold.signal.aborted);
    return this.#told ?? (lost?.signal.reason as LockLostError | undefined);
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
    const loss =
      this.#told ??
      new LockLostError(this.#paths, 'lease-expired', {}, `its lease of ${leaseMs} ms ended without a renewal`);
    this.#state = { at: 'expired', loss };
    // Nobody may release it.
    this.#released();
    for (const stop of this.#stops.splice(0)) stop();
    if (this.#aborter) abort(this.#aborter, loss);
    // The holds of this library end with the same lease. The holds of other locks do not know of it, and may not accept
    // a second release.
    releaseAll(this.holds.filter((hold) => !(hold instanceof Hold))).catch(() => undefined);
  }

  /** @internal */
  leaseRenewed(): void {
    this.#ours.find(({ isOpen }) => isOpen)?.leaseRenewed();
  }

  /** The loss that the application may know already. No later one takes its place. */
  get #told(): LockLostError | undefined {
    return this.#aborter?.signal.reason as LockLostError | undefined;
  }

  get #releasedAgo(): string {
    return this.#state.at === 'released'
      ? ` ${Math.round((this.#clock.now() - this.#state.since) * 10) / 10} ms ago`
      : '';
  }

  #newAborter(): AbortController {
    const aborter = newAborter();
    if (this.#state.at === 'open' && !this.loss)
      this.#stops.push(...this.holds.map((hold) => abortHubs.onAbort(hold.signal, (reason) => abort(aborter, reason))));
    return aborter;
  }

  #comeUnder(lease: HoldLease): void {
    this.#lease = lease;
    const ours = this.#ours;
    // Our holds leave the lease when they are lost. For the holds of other locks that is unknown.
    this.#stops.push(lease.join(this, { keeps: ours.length < this.holds.length }));
    for (const hold of ours) hold.comeUnder(lease);
  }

  get #ours(): Hold[] {
    return this.holds.filter((hold) => hold instanceof Hold);
  }
}

/** The part of a hold that an InterProcessMultiLock needs; a {@link Hold} has it. */
export interface PartHold {
  /** True while the lock is certainly still held; once false, it stays false. */
  readonly isValid: boolean;
  /** Aborts with a LockLostError when the lock is lost. */
  readonly signal: AbortSignal;
  /** Releases the hold. */
  release(): Promise<ReleaseOutcome>;
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

/** Releases in reverse order, all in this step. Rejects with the first error after all have settled. */
export async function releaseAll(holds: readonly PartHold[]): Promise<ReleaseOutcome> {
  const releases = [...holds].reverse().map(async (hold) => hold.release());
  // Not by `Promise.allSettled`: if Bluebird has replaced `Promise`, its results have no `status`.
  const settled = await Promise.all(
    releases.map((release) =>
      release.then(
        (outcome) => ({ outcome }),
        (error: unknown) => ({ error }),
      ),
    ),
  );
  for (const one of settled) if ('error' in one) throw one.error;
  return settled.every((one) => 'outcome' in one && one.outcome === 'released') ? 'released' : 'lost';
}
