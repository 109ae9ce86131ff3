import type { LockHost } from '../client/lock-host.js';
import type { LockKind } from '../client/report/lock-event.js';
import { isStandard } from '../driver/standard-driver.js';
import type { Clock } from '../support/clock.js';
import { newAborter } from '../support/abort-signal.js';
import { abort } from '../support/no-context.js';
import { LockLostError } from '../client/report/lock-lost-error.js';
import { NotOwnedError } from '../internals/lock-errors.js';
import { showByJson } from '../support/shown.js';
import type { Deadline } from '../support/deadline.js';
import { expectThis } from '../support/validate.js';
import { sessionName } from '../zookeeper/wire/wire-session.js';
import type { Grant, ReleaseOutcome } from '../internals/grant.js';
import { thisOwner, type LockOwner } from '../internals/znode/znode-data.js';
import { checkLeaseMs, type AcquireOptions } from './acquire-options.js';
import type { TransactionGuard } from './transaction/commit.js';
import { GuardedTransaction, queuesOf } from './transaction/guarded-transaction.js';
import { HoldLease } from './hold-lease.js';
import type { LockRules } from './lock-rules.js';
import { LateReleases, settleWithin } from './release-limit.js';

/**
 * The handle that one acquire has on a lock. Code that the lock protects should check `isValid` or pass `fencingToken`
 * on, and stop when `signal` aborts.
 *
 * @example
 * await using hold = await mutex.acquire({ timeoutMs: 5_000 });
 * const { fencingToken: token } = hold;
 * await db.query('UPDATE account SET balance = $1, token = $2 WHERE id = $3 AND token <= $2', [balance, token, id]);
 */
export class Hold implements AsyncDisposable {
  /** The znode of this hold, such as `/locks/orders/42/_c_<uuid>-lock-0000000007`. */
  readonly path: string;
  /**
   * The czxid of the znode: greater than that of every earlier holder of this lock on this ensemble. Tokens of
   * different ensembles, or from before and after a restored backup, must not be compared. For a lock with weights the
   * token is the transaction that claimed the lock; it grows in the same way. Several readers hold a lock together, so
   * several of their tokens are valid at once; a reader that was downgraded from a writer has the writer's token.
   */
  readonly fencingToken: bigint;
  /** Counts the grants of one znode of a sticky lock, which share one `fencingToken`. 0n for all other locks. */
  readonly grantNumber: bigint;
  /** True if its owner already had the lock when this hold was acquired. */
  readonly isReentrant: boolean;
  /** @internal */
  readonly keeper: HoldKeeper;
  /** @internal */
  readonly grant: Grant;
  /** @internal The context that owns the hold; undefined for a hold that was acquired outside of every context. */
  readonly context: HoldContext | undefined;
  /** @internal True for a hold of `withLock`, which releases it when the job settles. */
  readonly isOfJob: boolean;
  readonly #releaseTimeoutMs: number | undefined;
  #state: HoldState = { at: 'open' };
  #aborter: AbortController | undefined;
  #onExpired: ((error: LockLostError) => void) | undefined;
  /** The first lease to end ends the hold. Its own lease is the last in the list. */
  #leases: readonly HoldLease[] = noLeases;
  #stops: (() => void)[] = [];

  /** For the locks of this library only. */
  constructor(...library: never);
  /** @internal */
  constructor(grant: Grant, keeper: HoldKeeper, origin: HoldOrigin);
  constructor(grant: Grant, keeper: HoldKeeper, { context, isOfJob, releaseTimeoutMs }: HoldOrigin) {
    this.isReentrant = grant.handles > 0;
    if (!this.isReentrant) grant.usedBy(context ?? (isOfJob ? runningJob : undefined));
    grant.handles += 1;
    this.path = grant.path;
    this.fencingToken = grant.fencingToken;
    this.grantNumber = grant.number;
    this.grant = grant;
    this.keeper = keeper;
    this.context = context;
    this.isOfJob = isOfJob;
    this.#releaseTimeoutMs = releaseTimeoutMs;
  }

  /**
   * Begins to watch for a loss, which may have happened already. Returns the object that the application gets.
   *
   * @internal
   * @param around the leases of the hold that this one re-enters
   */
  begin(deadline: Deadline, { leaseMs, renewEveryMs }: AcquireOptions, around = noLeases): Hold {
    // Before its lease, so that a hold that has expired was held for at least that long.
    const since = this.#clock.now();
    this.#stops.push(this.grant.onLost((error) => this.#lost(error)));
    for (const lease of around) this.comeUnder(lease);
    if (leaseMs !== undefined) this.comeUnder(new HoldLease(this.#clock, { leaseMs, renewEveryMs }));
    this.keeper.report.acquired(this, deadline, since);
    this.#judge();
    return this.keeper.report.handleOf(this);
  }

  /** @internal */
  get leases(): readonly HoldLease[] {
    return this.#leases;
  }

  /** @internal From now on the hold ends with this lease, too. */
  comeUnder(lease: HoldLease): void {
    this.#leases = [...this.#leases, lease];
    this.#stops.push(lease.join(this));
  }

  /** @internal True until a release or a loss was noticed. */
  get isOpen(): boolean {
    return this.#state.at === 'open';
  }

  /** Returns what `console.log` and `JSON.stringify` show: the znode, the token as text, and whether it is held. */
  toJSON(): object {
    const { path, fencingToken, grantNumber, isReentrant, isValid, loss } = this;
    const state = isValid ? { state: 'held' } : loss ? { state: 'lost', reason: loss.reason } : { state: 'released' };
    return { path, fencingToken: String(fencingToken), grantNumber: String(grantNumber), isReentrant, ...state };
  }

  static {
    showByJson(this, 'Hold');
  }

  /** @internal Calls `listener` when the hold's lease ends, or at once if it has ended. */
  onExpired(listener: (error: LockLostError) => void): void {
    this.#onExpired = listener;
    if (this.#state.at === 'expired') listener(this.#state.loss);
  }

  /**
   * True while the lock is certainly still held, judged now by the session's clock, and by the clock of its lease if it
   * has one. Once false, it stays false. It is false after a release, too.
   */
  get isValid(): boolean {
    this.#judge();
    return this.#state.at === 'open' && this.grant.isValid;
  }

  /**
   * True if each later holder of the lock has a greater (`fencingToken`, `grantNumber`), so that a store can refuse an
   * earlier one. False for a read lock and for a semaphore, because several of their tokens are valid at once, and for
   * a driver of your own, which may let several in at once.
   */
  get isFence(): boolean {
    const { kind, rules } = this.keeper.lock;
    if (kind === 'read' || kind === 'semaphore') return false;
    // Only a mutex takes the application's driver.
    return kind !== 'mutex' || rules === undefined || isStandard(rules.driver);
  }

  /**
   * How many milliseconds the lock is certainly still held if no server is heard from and its lease is not renewed:
   * until the session's deadline, which every answer moves, or until the end of its lease, whichever comes first. 0
   * once the hold has ended.
   */
  get remainingMs(): number {
    if (!this.isValid) return 0;
    return Math.max(0, Math.min(this.grant.deadline, this.#leaseEnd) - this.#clock.now());
  }

  /** @internal True if the hold has a lease that ends before the session's deadline, as both are known now. */
  get leaseEndsFirst(): boolean {
    return this.#leaseEnd < this.grant.deadline;
  }

  get #leaseEnd(): number {
    return Math.min(...this.#leases.map(({ endsAt }) => endsAt));
  }

  /**
   * The process that owns the hold: this one. The option `data` of the acquire decides what other clients can read of
   * it.
   */
  get owner(): LockOwner {
    return thisOwner(sessionName(this.grant.node.session.id));
  }

  /**
   * Aborts with a LockLostError when the lock is lost before it is released. A normal release does not abort it. An
   * error that a listener of the signal throws is an uncaught exception, as Node.js defines it for every AbortSignal.
   *
   * @example
   * await fetch(url, { signal: hold.signal });
   */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      const { loss } = this;
      this.#aborter = newAborter();
      if (loss) this.#aborter.abort(loss);
    }
    return this.#aborter.signal;
  }

  /**
   * Throws unless the hold is valid. Call it right before each step that must not run without the lock.
   *
   * @throws LockLostError when the lock is lost
   * @throws NotOwnedError when this handle was released before
   * @example
   * for (const row of rows) {
   *   hold.assertValid();
   *   await write(row, hold.fencingToken);
   * }
   */
  assertValid(): void {
    if (!this.isValid) throw this.loss ?? this.#notOwned(`this hold was released ${this.#endedAgoMs} ms ago`);
  }

  /**
   * Sets the end of the lease to `leaseMs` from now; sends nothing. A re-entrant hold without a lease of its own renews
   * the lease of the hold that it re-entered. If there is no lease at all, one begins, for this hold alone.
   *
   * @param leaseMs milliseconds ≥ 1
   * @throws LockLostError when the hold was lost, also by the end of its lease; the text says `leaseMs`, and how long
   * ago that was
   * @throws NotOwnedError when this handle was released before; the text says the same
   * @throws TypeError or RangeError when `leaseMs` is not such a number, or not longer than `renewEveryMs`
   * @example
   * for await (const page of pages) {
   *   hold.renew(30_000); // each page has this long
   *   await store(page, hold.fencingToken);
   * }
   */
  renew(leaseMs: number): void {
    checkLeaseMs('leaseMs', leaseMs);
    if (!this.isValid) throw this.#tooLate(leaseMs);
    const lease = this.#leases.at(-1);
    if (lease) lease.renew(leaseMs);
    else this.comeUnder(new HoldLease(this.#clock, { leaseMs }));
    this.leaseRenewed();
  }

  /**
   * Begins a transaction that ZooKeeper does while this hold's znode exists, or not at all: the guard for data in
   * ZooKeeper. Sends nothing before `commit()`. A reader's transaction is done while no writer holds the lock, and a
   * lease's while the lease is held: several of them may write at the same time, so compare versions.
   *
   * @example
   * await hold.transaction().setData('/config', Buffer.from('by the holder'), { version }).commit();
   */
  transaction(): GuardedTransaction {
    return new GuardedTransaction(this.guard);
  }

  /** @internal */
  get guard(): TransactionGuard {
    const { host, path, writes } = this.keeper.lock;
    const { node } = this.grant;
    return {
      host,
      session: node.session,
      paths: () => [this.path],
      assertValid: () => this.assertValid(),
      remainingMs: () => this.remainingMs,
      loss: () => this.loss,
      trace: (commit) => this.keeper.report.committing(this, commit),
      foundMissing: () => node.foundMissing(),
      claims: () => writes ?? [],
      queues: () => queuesOf(path, this.path),
    };
  }

  /**
   * Releases this hold. The outcome is decided when the function is called: `lost` if the lock was not certainly held
   * any more. The promise settles when the server has deleted the znode, at the session's deadline, or after the
   * `releaseTimeoutMs` of the acquire, and never rejects; a deletion that fails is repeated in the background. The znode
   * is deleted with the last hold of the same owner. A second call returns the same promise.
   *
   * @example
   * if ((await hold.release()) === 'lost') await checkWhatWasWritten();
   */
  release(): Promise<ReleaseOutcome> {
    expectThis(this instanceof Hold, 'hold.release()');
    // Judged while the hold is open, so that a loss which is noticed only now still aborts the signal. A listener of
    // that signal may release the hold as well.
    this.#judge();
    if (this.#state.at === 'released') return this.#state.outcome;
    const settled = this.#releaseGrant();
    const outcome = settleWithin(this.#releaseTimeoutMs, this.#clock, settled, () => this.#isLate());
    const { loss } = this;
    this.#stopListening();
    const since = this.#clock.now();
    this.#state = { at: 'released', outcome, loss, since };
    this.keeper.released(this);
    this.keeper.report.released(this, settled, since);
    return outcome;
  }

  /** Calls `release()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /** @internal Why the hold was lost, if that happened before its release. */
  get loss(): LockLostError | undefined {
    this.#judge();
    return this.#state.at === 'open' ? undefined : this.#state.loss;
  }

  /** @internal */
  leaseEnded(lease: HoldLease): void {
    if (this.#state.at !== 'open') return;
    this.#ended(
      'expired',
      new LockLostError(this.path, 'lease-expired', {}, `its lease of ${lease.leaseMs} ms ended without a renewal`),
      lease.endsAt,
    );
    // The signal of the owner's last hold has aborted by now, so others may be granted the lock.
    this.grant.handles -= 1;
    if (this.grant.handles === 0) this.grant.expire();
  }

  /** @internal */
  leaseRenewed(): void {
    this.keeper.report.renewed(this);
  }

  /**
   * Judges by the clocks, now: a listener of another hold's loss may look at this hold before its own loss was noticed.
   */
  #judge(): void {
    if (this.#state.at !== 'open') return;
    const lease = this.#leases.find(({ isOver }) => isOver);
    if (lease) this.leaseEnded(lease);
    const { loss } = this.grant;
    if (loss) this.#lost(loss);
  }

  #releaseGrant(): Promise<ReleaseOutcome> {
    if (this.#state.at === 'expired') return lost;
    const { grant } = this;
    grant.handles -= 1;
    return grant.handles === 0 ? grant.release() : Promise.resolve<ReleaseOutcome>(grant.isValid ? 'released' : 'lost');
  }

  /** The outcome of a release for which the caller does not wait any longer. A lost hold has nothing to wait for. */
  #isLate(): ReleaseOutcome {
    this.keeper.lock.host.companions.of(LateReleases).tell(this.path, this.#releaseTimeoutMs ?? 0);
    return 'released';
  }

  #lost(loss: LockLostError): void {
    if (this.#state.at === 'open') this.#ended('lost', loss, this.#clock.now());
  }

  #ended(at: 'lost' | 'expired', loss: LockLostError, since: number): void {
    this.#state = { at, loss, since };
    this.#stopListening();
    if (this.#aborter) abort(this.#aborter, loss);
    if (at === 'expired') this.#onExpired?.(loss);
    this.keeper.lost(this);
    this.keeper.report.lost(this, at, loss, since);
  }

  #stopListening(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #tooLate(leaseMs: number): LockLostError | NotOwnedError {
    const { loss } = this;
    const why = `it cannot be renewed for ${leaseMs} ms, because it ended ${this.#endedAgoMs} ms ago`;
    if (loss) return new LockLostError(this.path, loss.reason, { cause: loss }, `${why}: ${loss.message}`);
    return this.#notOwned(`${why}, when it was released`);
  }

  #notOwned(why: string): NotOwnedError {
    const { path } = this.keeper.lock;
    return new NotOwnedError(path, `You do not own the lock: ${path}: ${why}`);
  }

  get #endedAgoMs(): number {
    const now = this.#clock.now();
    return Math.round((now - (this.#state.at === 'open' ? now : this.#state.since)) * 10) / 10;
  }

  get #clock(): Clock {
    return this.keeper.lock.host.clock;
  }
}

/** The object that acquired a hold, and keeps it until its release. */
export interface HoldKeeper {
  readonly lock: HeldLock;
  readonly report: HoldReport;
  /** The hold has ended without a release, which may follow. */
  lost(hold: Hold): void;
  released(hold: Hold): void;
}

/** Is told what happens to a hold, in this order. */
export interface HoldReport {
  /**
   * @param deadline that of its acquire
   * @param since monotonic milliseconds
   */
  acquired(hold: Hold, deadline: Deadline, since: number): void;
  renewed(hold: Hold): void;
  /** A transaction of the hold is about to be sent. Settles as `commit` does. */
  committing<T>(hold: Hold, commit: () => Promise<T>): Promise<T>;
  /** Another client asks for the lock. */
  askedToRelease(hold: Hold): void;
  /**
   * The hold has ended without a release.
   *
   * @param endedAt monotonic milliseconds
   */
  lost(hold: Hold, type: 'lost' | 'expired', error: LockLostError, endedAt: number): void;
  /**
   * The application has released the hold, which may have been lost before.
   *
   * @param settled resolves when the servers have answered
   * @param endedAt monotonic milliseconds
   */
  released(hold: Hold, settled: Promise<ReleaseOutcome>, endedAt: number): void;
  /** The object that the application has of the hold. */
  handleOf(hold: Hold): Hold;
}

/** The lock of a hold. */
export interface HeldLock {
  readonly host: LockHost;
  readonly path: string;
  readonly kind: LockKind;
  readonly lockName: string;
  /** The znodes whose data the lock itself writes, apart from those of its participants. */
  readonly writes?: readonly string[];
  /** The rules of a mutex; undefined for other locks. */
  readonly rules?: LockRules;
}

/** The owner of a hold, and the options of its acquire. */
export interface HoldOrigin {
  /** Undefined outside of every lock context. */
  readonly context: HoldContext | undefined;
  /** True for a hold of `withLock`. */
  readonly isOfJob: boolean;
  /** How long `release()` waits for the servers at most; undefined for no limit. */
  readonly releaseTimeoutMs: number | undefined;
}

/** The owner of holds: a lock context. */
export interface HoldContext {
  readonly isLive: boolean;
  add(key: string, hold: Hold): void;
  delete(key: string, hold: Hold): void;
}

type HoldState =
  | { readonly at: 'open' }
  /**
   * The job's signal has aborted. The client waits for the release, so that it does not touch the session before the
   * job has stopped.
   */
  | { readonly at: 'lost'; readonly loss: LockLostError; readonly since: number }
  /** The job's signal has aborted. The client does not wait for the release. */
  | { readonly at: 'expired'; readonly loss: LockLostError; readonly since: number }
  | {
      readonly at: 'released';
      readonly outcome: Promise<ReleaseOutcome>;
      readonly loss: LockLostError | undefined;
      readonly since: number;
    };

/** A job without a context of its own, which releases its hold when it ends. */
const runningJob = { isLive: true };

const noLeases: readonly HoldLease[] = [];

const lost = Promise.resolve<ReleaseOutcome>('lost');
