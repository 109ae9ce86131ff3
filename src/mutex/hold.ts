import type { LockClient } from '../client/lock-client.js';
import type { LockKind } from '../client/lock-event.js';
import type { Clock } from '../support/clock.js';
import { abort } from '../support/no-context.js';
import { LockLostError, NotOwnedError } from '../internals/lock-errors.js';
import { showByJson } from '../support/shown.js';
import { sessionName } from '../zookeeper/session.js';
import type { Grant, ReleaseOutcome } from '../internals/grant.js';
import { thisOwner, type LockOwner } from '../internals/lock-owner.js';
import { checkLeaseMs } from './acquire-options.js';
import { HoldLease, type LeaseTerms } from './hold-lease.js';
import type { LockRules } from './lock-rules.js';

/**
 * One acquire's handle on a lock. Everything that the lock protects should ask `isValid` or pass `fencingToken` on, and
 * stop when
 * `signal` aborts.
 *
 * @example
 * await using hold = await mutex.acquire({ timeoutMs: 5_000 });
 * await db.query('UPDATE account SET balance = $1, token = $2 WHERE id = $3 AND token <= $2', [balance,
 * hold.fencingToken, id]);
 */
export class Hold implements AsyncDisposable {
  /** The znode that stands for this hold, such as `/locks/orders/42/_c_<uuid>-lock-0000000007`. */
  readonly path: string;
  /**
   * The czxid of the znode: greater than that of every earlier holder of this lock on this ensemble. Not comparable
   * across ensembles, nor
   * after a backup was restored. Of a lock with weights it is the transaction that claimed the lock, and grows in the
   * same way. Readers hold
   * together, so that several tokens are good at once; a reader who was the writer has its writer's token.
   */
  readonly fencingToken: bigint;
  /** Counts the grants of one znode, where a sticky lock has several: they share one `fencingToken`. Else 0n. */
  readonly grantNumber: bigint;
  /** Whether its owner had the lock already when it was acquired. */
  readonly isReentrant: boolean;
  /** @internal */
  readonly keeper: HoldKeeper;
  /** @internal */
  readonly shared: SharedGrant;
  /** @internal Whose hold it is; undefined when it was acquired outside of every context. */
  readonly context: HoldContext | undefined;
  /** @internal Where its acquire was called, if the client has `debug`. */
  readonly calledAt: string | undefined;
  /** Monotonic milliseconds, where somebody listens who wants to know. */
  readonly #askedAt: number | undefined;
  readonly #since: number | undefined;
  /** What the application has in its place, if the client has `debug`. */
  #handle: WeakRef<Hold> | undefined;
  #state: HoldState = { at: 'open' };
  #aborter: AbortController | undefined;
  #onExpired: ((error: LockLostError) => void) | undefined;
  /** Whichever ends first ends it; its own is the last. */
  #leases: readonly HoldLease[] = noLeases;
  #stops: (() => void)[] = [];

  /** @internal */
  constructor(shared: SharedGrant, keeper: HoldKeeper, { context, askedAt, calledAt }: HoldOrigin) {
    this.isReentrant = shared.handles > 0;
    shared.handles += 1;
    this.path = shared.grant.path;
    this.fencingToken = shared.grant.fencingToken;
    this.grantNumber = shared.grant.number;
    this.shared = shared;
    this.keeper = keeper;
    this.context = context;
    this.calledAt = calledAt;
    this.#askedAt = askedAt;
    this.#since = askedAt === undefined ? undefined : this.#clock.now();
  }

  /**
   * From now on it can be lost, which may have happened already.
   *
   * @internal
   * @param around the leases of the hold that it re-enters
   */
  begin(terms: LeaseTerms | undefined, around = noLeases): this {
    this.#stops.push(this.shared.grant.onLost((error) => this.#lost(error)));
    for (const lease of around) this.comeUnder(lease);
    if (terms) this.comeUnder(new HoldLease(this.#clock, terms));
    this.keeper.tell('acquired', this);
    this.#judge();
    return this;
  }

  /** @internal From now on it ends with this lease, too. */
  comeUnder(lease: HoldLease): void {
    this.#leases = [...this.#leases, lease];
    this.#stops.push(lease.join(this));
  }

  /** @internal What the application gets in its place. */
  handOut(handle: Hold): void {
    this.#handle = new WeakRef(handle);
  }

  /** @internal What the application knows it by. */
  get handle(): Hold {
    return this.#handle?.deref() ?? this;
  }

  /** @internal Whether it was neither released nor lost, as far as it was told. */
  get isOpen(): boolean {
    return this.#state.at === 'open';
  }

  /** @internal How long its acquire has taken, in milliseconds, if that was to be remembered. */
  get waitedMs(): number {
    return this.#since === undefined || this.#askedAt === undefined ? 0 : this.#since - this.#askedAt;
  }

  /** @internal For how many milliseconds it is, or was, held, if its beginning was to be remembered. */
  get heldMs(): number | undefined {
    if (this.#since === undefined) return undefined;
    return (this.#state.at === 'open' ? this.#clock.now() : this.#state.since) - this.#since;
  }

  /** What `console.log` and `JSON.stringify` show: the znode, the token as text, and whether it is still held. */
  toJSON(): object {
    const { path, fencingToken, grantNumber, isReentrant, isValid, loss } = this;
    const state = isValid ? { state: 'held' } : loss ? { state: 'lost', reason: loss.reason } : { state: 'released' };
    return { path, fencingToken: String(fencingToken), grantNumber: String(grantNumber), isReentrant, ...state };
  }

  static {
    showByJson(this, 'Hold');
  }

  /** @internal Calls it when its lease ends, or has ended. */
  onExpired(listener: (error: LockLostError) => void): void {
    this.#onExpired = listener;
    if (this.#state.at === 'expired') listener(this.#state.loss);
  }

  /** @internal */
  get leases(): readonly HoldLease[] {
    return this.#leases;
  }

  /**
   * Whether the lock is certainly still held, judged now against the session's clock, and the lease's where it has one.
   * Once false, it is always false.
   * It is false after a release, too.
   */
  get isValid(): boolean {
    this.#judge();
    return this.#state.at === 'open' && this.shared.grant.isValid;
  }

  /**
   * For how many milliseconds it is certainly still held, if neither the servers are heard from nor its lease is
   * renewed: until the session's deadline, which
   * every answer moves, or the end of its lease, whichever comes first. 0 once it has ended.
   */
  get remainingMs(): number {
    if (!this.isValid) return 0;
    const end = Math.min(this.shared.grant.deadline, ...this.#leases.map(({ endsAt }) => endsAt));
    return Math.max(0, end - this.#clock.now());
  }

  /** Which process it belongs to, this one. What others can read of it is up to the `data` of the acquire. */
  get owner(): LockOwner {
    return thisOwner(sessionName(this.shared.grant.node.session.id));
  }

  /**
   * Aborts with a LockLostError when the lock is lost before it is released. A normal release does not abort it.
   *
   * @example
   * await fetch(url, { signal: hold.signal });
   */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      const { loss } = this;
      this.#aborter = new AbortController();
      if (loss) this.#aborter.abort(loss);
    }
    return this.#aborter.signal;
  }

  /**
   * Throws unless the hold is valid: to be called right before each step that must not run without the lock.
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
   * Lets its lease last `leaseMs` from now on, instead of what was left; sends nothing. A re-entrant hold without a
   * lease of its own renews that of the hold
   * which it re-entered. Where there is no lease at all, one begins, of this hold alone.
   *
   * @param leaseMs milliseconds ≥ 1
   * @throws LockLostError when the hold has ended by a loss, its lease's end included; names `leaseMs`, and how long
   * ago that was
   * @throws NotOwnedError when this handle was released before, likewise
   * @throws TypeError or RangeError when `leaseMs` is no such number, or not longer than `renewEveryMs`
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
    this.keeper.tell('renewed', this);
  }

  /**
   * Lets go. The outcome is decided when it is called: `lost` if the lock was not certainly held any more. The promise
   * settles when the
   * server has deleted the znode, or at the session's deadline, and never rejects; a deletion that fails is repeated in
   * the background.
   * The znode goes with the last handle of the same owner. Calling it again returns the same promise.
   *
   * @example
   * if ((await hold.release()) === 'lost') await checkWhatWasWritten();
   */
  release(): Promise<ReleaseOutcome> {
    // Judged while it is open: a loss that is noticed only now still aborts its signal, and who hears of that may
    // release it as well.
    this.#judge();
    if (this.#state.at === 'released') return this.#state.outcome;
    const outcome = this.#letGo();
    const { loss } = this;
    this.#leave();
    this.#state = { at: 'released', outcome, loss, since: this.#clock.now() };
    this.keeper.released(this);
    if (!loss) this.keeper.tell('released', this);
    return outcome;
  }

  /** `release()`: what `await using` calls. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /** @internal Why it was lost, if that was before it was released. */
  get loss(): LockLostError | undefined {
    this.#judge();
    return this.#state.at === 'open' ? undefined : this.#state.loss;
  }

  /** @internal */
  leaseEnded(lease: HoldLease): void {
    if (this.#state.at !== 'open') return;
    this.#ended(
      'expired',
      new LockLostError(this.path, 'lease-expired', {}, `its lease of ${lease.leaseMs} ms passed unrenewed`),
      lease.endsAt,
    );
    // The last one's signal has aborted by then: others may be let in.
    this.shared.handles -= 1;
    if (this.shared.handles === 0) this.shared.grant.expire();
  }

  /** @internal */
  leaseRenewed(): void {
    this.keeper.tell('renewed', this);
  }

  /** By the clocks, now: who hears of another hold's loss may look at this one before it is told. */
  #judge(): void {
    if (this.#state.at !== 'open') return;
    const lease = this.#leases.find(({ isOver }) => isOver);
    if (lease) this.leaseEnded(lease);
    const { loss } = this.shared.grant;
    if (loss) this.#lost(loss);
  }

  #letGo(): Promise<ReleaseOutcome> {
    if (this.#state.at === 'expired') return lost;
    this.shared.handles -= 1;
    const { grant } = this.shared;
    return this.shared.handles === 0
      ? grant.release()
      : Promise.resolve<ReleaseOutcome>(grant.isValid ? 'released' : 'lost');
  }

  #lost(loss: LockLostError): void {
    if (this.#state.at === 'open') this.#ended('lost', loss, this.#clock.now());
  }

  #ended(at: 'lost' | 'expired', loss: LockLostError, since: number): void {
    this.#state = { at, loss, since };
    this.#leave();
    if (this.#aborter) abort(this.#aborter, loss);
    if (at === 'expired') this.#onExpired?.(loss);
    this.keeper.tell(at, this);
  }

  #leave(): void {
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
    return this.keeper.lock.client.clock;
  }
}

/** Several handles of one owner share one grant; the znode goes with the last of them. */
export interface SharedGrant {
  readonly grant: Grant;
  /** Those that were not released, and whose lease has not ended. */
  handles: number;
}

/** What happens to a hold, in this order: it ends in one of the last three ways. */
export type HoldNews = 'acquired' | 'renewed' | 'expired' | 'lost' | 'released';

/** Who is told when a handle is released, and of all that happens to it: the object that has acquired it. */
export interface HoldKeeper {
  readonly lock: HeldLock;
  released(hold: Hold): void;
  tell(news: HoldNews, hold: Hold): void;
  /** Somebody asks for the lock. */
  askToRelease(hold: Hold): void;
}

/** Which lock is held. */
export interface HeldLock {
  readonly client: LockClient;
  readonly path: string;
  readonly kind: LockKind;
  readonly lockName: string;
  /** Of a mutex. */
  readonly rules?: LockRules;
}

/** Whose hold it is, and what is to be remembered of its acquire. */
export interface HoldOrigin {
  /** Undefined outside of every lock context. */
  readonly context: HoldContext | undefined;
  /** When the acquire was called, in monotonic milliseconds, if anybody wants to know how long it waits and is held. */
  readonly askedAt: number | undefined;
  /** Where its acquire was called, if the client has `debug`. */
  readonly calledAt: string | undefined;
}

/** Where holds belong: a lock context. */
export interface HoldContext {
  readonly isLive: boolean;
  add(key: string, hold: Hold): void;
  delete(key: string, hold: Hold): void;
}

type HoldState =
  | { readonly at: 'open' }
  /** The job was told, and is waited for, so that its session is not touched before it has stopped. */
  | { readonly at: 'lost'; readonly loss: LockLostError; readonly since: number }
  /** The job was told, and nobody waits for it. */
  | { readonly at: 'expired'; readonly loss: LockLostError; readonly since: number }
  | {
      readonly at: 'released';
      readonly outcome: Promise<ReleaseOutcome>;
      readonly loss: LockLostError | undefined;
      readonly since: number;
    };

const noLeases: readonly HoldLease[] = [];

const lost = Promise.resolve<ReleaseOutcome>('lost');
