import { DeadlockError, LockTimeoutError, NotOwnedError, type TimedOut } from '../internals/lock-errors.js';
import { Events } from '../support/events.js';
import { askApplication, inNoContext } from '../support/no-context.js';
import { requireClient, requireOpen, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/path.js';
import { expectFunction } from '../support/validate.js';
import { localAddress } from '../internals/local-address.js';
import type { Grant, ReleaseOutcome } from '../internals/grant.js';
import type { Participant } from '../internals/participants.js';
import { Deadline } from '../internals/deadline.js';
import { checkMutexOptions, checkTryOptions, dataOfOptions, leaseTermsOf, weightNames, type MutexAcquireOptions } from './acquire-options.js';
import { ask, type AskOptions } from './ask.js';
import { Hold, type HoldKeeper } from './hold.js';
import { holdEvents, tellNews, type HoldEvents } from './hold-events.js';
import { currentContext, innermostContext, LockContext } from './lock-context.js';
import { mutexKind, type MutexKind } from './mutex-kind.js';
import { checkedMutexOptions, type InterProcessMutexOptions } from './mutex-options.js';
import { OwnHolds } from './own-holds.js';
import { withHold } from './with-hold.js';

/**
 * A fair, re-entrant lock between processes, in one queue with Apache Curator's InterProcessMutex on the same path.
 *
 * @example
 * const mutex = new InterProcessMutex(client, '/locks/orders/42');
 * await mutex.withLock(async (hold) => ship(order, hold.fencingToken), { timeoutMs: 10_000 });
 */
export class InterProcessMutex {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #kind: MutexKind;
  readonly #events = new Events<InterProcessMutexEvents>('queued', ...holdEvents);
  readonly #holds = new OwnHolds(this);
  readonly #keeper: HoldKeeper;
  readonly #pair: ReadWriteRole | undefined;
  #revocation: RevocationListener | undefined;

  /**
   * Sends nothing.
   *
   * @param path the lock's znode, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not take
   * @throws TypeError for a bad option
   * @example
   * const mutex = new InterProcessMutex(client, '/locks/orders/42', { foreignNodes: 'wait' });
   */
  constructor(client: LockClient, path: string, options?: InterProcessMutexOptions);
  /** @internal */ // eslint-disable-next-line @typescript-eslint/unified-signatures -- one signature would make the pair public
  constructor(client: LockClient, path: string, options: InterProcessMutexOptions, pair: ReadWriteRole);
  constructor(client: LockClient, path: string, options: InterProcessMutexOptions = {}, pair?: ReadWriteRole) {
    requireClient(client);
    const checked = checkedMutexOptions(options, { isOwnDriver: pair !== undefined });
    this.#client = client;
    this.#path = lockPath(path);
    this.#pair = pair;
    const usual = pair?.data ?? Buffer.from(localAddress());
    const events = this.#events;
    const queued = (position: number, znode: string): void => events.tell('queued', { position, path: znode });
    this.#kind = mutexKind(client, this.#path, checked, {
      data: () => (this.#revocation ? noData : usual),
      get queued() {
        return events.isHeard('queued') ? queued : undefined;
      },
    });
    this.#keeper = {
      lock: { client, path: this.#path, lockName: this.#kind.lockName },
      released: (hold) => this.#holds.delete(hold),
      tell: (news, hold) => tellNews(this.#events, news, hold),
    };
  }

  /** The lock's znode, as it was given. */
  get path(): string {
    return this.#path;
  }

  /** @internal */
  get client(): LockClient {
    return this.#client;
  }

  /**
   * Waits for the lock; in a lock context that holds it already, counts up and sends nothing. Outside of every lock context each call is an
   * owner of its own, and waits its turn.
   *
   * @throws LockTimeoutError after `timeoutMs`
   * @throws the reason of `signal` when that aborts first
   * @throws LockLostError in a context whose hold was lost: what it protects has to stop, not to go on with a new hold
   * @throws DeadlockError when it would wait without end for what its own flow holds
   * @throws ForeignNodeError when nobody can say who goes first, unless `foreignNodes` is `wait`
   * @throws SequenceOverflowError when all names of this lock are used up
   * @throws RequestFailedError when ZooKeeper refuses, or the retry policy gives up
   * @throws ClientClosedError when the client is closed, before or meanwhile
   * @throws TypeError or RangeError for a bad option
   * @example
   * const hold = await mutex.acquire({ timeoutMs: 5_000 });
   * try {
   *   await work(hold);
   * } finally {
   *   await hold.release();
   * }
   */
  acquire(options?: MutexAcquireOptions): Promise<Hold> {
    return this.#enter(currentContext(), 'acquire', options);
  }

  /**
   * The lock if it can be had within `timeoutMs`, else undefined. Without a timeout it looks first, and writes nothing when somebody is there.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries once, for as long as an answer takes
   * @throws as {@link InterProcessMutex.acquire}, except LockTimeoutError
   * @example
   * await using hold = await mutex.tryAcquire();
   * if (hold) await work(hold);
   */
  async tryAcquire(options?: number | MutexAcquireOptions): Promise<Hold | undefined> {
    const checked = checkTryOptions(options, weightNames);
    try {
      return await this.#enter(currentContext(), 'tryAcquire', checked);
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Runs `job` while holding the lock, in a lock context of its own: inside, this mutex is re-entrant. Releases when the job settles, whatever
   * happens. A job that fulfils after its hold was lost rejects all the same. A job whose lease ends is not waited for: it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when the lock was lost before the job fulfilled, at once when its lease has ended
   * @throws TypeError when the job returns a stream or an iterator, which would outlive the lock
   * @throws as {@link InterProcessMutex.acquire}; `job` is not called then
   * @example
   * const total = await mutex.withLock(async (hold) => addUp(hold.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (hold: Hold) => T | PromiseLike<T>, options?: MutexAcquireOptions): Promise<T> {
    expectFunction('job', job);
    const context = new LockContext('lock', innermostContext());
    const hold = await this.#enter(context, 'withLock', options);
    return withHold(hold, this.#path, () => context.run(() => job(hold)));
  }

  /**
   * Releases the latest hold of the current lock context; outside of every context, the oldest hold of this mutex that no live context owns.
   * `hold.release()` says which one, and is to be preferred.
   *
   * @throws NotOwnedError when there is none
   */
  async release(): Promise<ReleaseOutcome> {
    const hold = this.#holds.ofCaller();
    if (hold === undefined) throw new NotOwnedError(this.#path);
    return hold.release();
  }

  /** Whether anybody in this process holds this mutex. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return this.#holds.isAnyValid;
  }

  /**
   * How many valid holds the current lock context has of this mutex, one for each acquire that was not released; outside of every context, how many there are
   * that no live context owns: those which `release()` would find here. Asks no server.
   */
  get holdCount(): number {
    return this.#holds.allOfCaller().filter((hold) => hold.isValid).length;
  }

  /** Whether the current lock context holds this mutex; false outside of every context. Asks no server. */
  get isOwnedByCurrentContext(): boolean {
    return this.#holds.heldBy(currentContext())?.isValid ?? false;
  }

  /**
   * The queue, the holder first; other processes and Java's Curator included, and go-zookeeper's locks, whose names are alike. With `foreignNodes: 'wait'`
   * kazoo's are there, too, where their names stand in Curator's order.
   *
   * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout
   * @throws the reason of `signal` when that aborts first
   * @throws RequestFailedError when ZooKeeper refuses
   * @throws ClientClosedError when the client is closed, before or meanwhile
   * @throws TypeError or RangeError for a bad option
   * @example
   * for (const { path, sessionId, data } of await mutex.participants()) console.log(path, sessionId, data.toString());
   */
  participants(options?: AskOptions): Promise<Participant[]> {
    return this.#ask('participants', 'participants', options, (deadline) => this.#kind.participants(deadline));
  }

  /**
   * Who holds the lock now, in whatever process, as the servers know it after all that was written before this call; of several readers the first. Undefined when
   * nobody does. A holder that `isIdle` keeps a sticky lock for later, as far as it has told: it does so 20 ms after the last use. Of a read/write lock it is
   * about this side alone.
   *
   * @throws ForeignNodeError, or ForeignDataError of a lock with weights, where nobody holds it as far as one can see, and somebody may
   * @throws as {@link InterProcessMutex.participants}
   * @example
   * const holder = await mutex.holder();
   * console.log(holder ? `held by ${holder.owner?.host ?? holder.data.toString()} since ${holder.createdAt}` : 'free');
   */
  holder(options?: AskOptions): Promise<Participant | undefined> {
    return this.#ask('holder', 'holder', options, (deadline) => this.#kind.holder(deadline));
  }

  /**
   * Whether {@link InterProcessMutex.holder} finds anybody, in whatever process, who does not only keep a sticky lock without using it. It may have changed by the time that the answer is here:
   * use `tryAcquire` to get the lock if it is free.
   *
   * @throws as {@link InterProcessMutex.holder}
   * @example
   * if (await mutex.isLocked()) console.log('busy');
   */
  async isLocked(options?: AskOptions): Promise<boolean> {
    const holder = await this.#ask('isLocked', 'holder', options, (deadline) => this.#kind.holder(deadline));
    return holder !== undefined && !holder.isIdle;
  }

  /**
   * Lets others ask for the lock, as in Curator: when somebody calls `revoke` on the znode of a hold, or Java's Revoker does, `listener` is called
   * with that hold, of several handles of one owner with the first. To let go is up to it. A request that comes while the hold is still waiting is
   * told as soon as it is granted. What the listener throws, or rejects with, is warned of.
   *
   * It is for this mutex object, and stays until another listener takes its place; Curator forgets it at the first release. From now on the
   * mutex's znodes carry no data, as in Curator.
   *
   * @throws TypeError if `listener` is not a function
   * @example
   * mutex.makeRevocable((hold) => checkpoint().finally(() => hold.release()));
   */
  makeRevocable(listener: RevocationListener): void {
    expectFunction('listener', listener);
    this.#revocation = listener;
    // Nobody has told those who asked before.
    for (const grant of new Set([...this.#holds].map((hold) => hold.shared.grant))) this.#tellIfRevoked(grant);
  }

  /**
   * Calls `listener` at every event from now on, as nobody's code: what it acquires is its own. What a listener throws, or rejects with, is reported as a process
   * warning, and stops nothing.
   *
   * @throws TypeError for another event, or a listener that is not a function
   * @example
   * mutex.on('queued', ({ position, path }) => log.info(`${path} waits behind ${position}`));
   */
  on<Name extends keyof InterProcessMutexEvents>(event: Name, listener: (value: InterProcessMutexEvents[Name]) => void): this {
    this.#events.on(event, listener);
    return this;
  }

  /** As `on`, for the next time only. */
  once<Name extends keyof InterProcessMutexEvents>(event: Name, listener: (value: InterProcessMutexEvents[Name]) => void): this {
    this.#events.once(event, listener);
    return this;
  }

  /** Takes back what `on` or `once` was given; of several equal listeners the latest. */
  off<Name extends keyof InterProcessMutexEvents>(event: Name, listener: (value: InterProcessMutexEvents[Name]) => void): this {
    this.#events.off(event, listener);
    return this;
  }

  #ask<T>(call: string, what: TimedOut, options: AskOptions | undefined, answer: (deadline: Deadline) => Promise<T>): Promise<T> {
    return ask(this.#client, { call, what, path: this.#path }, options, answer);
  }

  #enter(context: LockContext | undefined, what: 'tryAcquire', options: MutexAcquireOptions): Promise<Hold | undefined>;
  #enter(context: LockContext | undefined, what: 'acquire' | 'withLock', options: MutexAcquireOptions | undefined): Promise<Hold>;
  /** The one function that waits for as long as an acquire does, besides that of the internals: ten thousand may. */
  async #enter(context: LockContext | undefined, what: string, given: MutexAcquireOptions = noOptions): Promise<Hold | undefined> {
    const options = given === noOptions ? noOptions : checkMutexOptions(what, given, this.#kind.hasWeights);
    if (this.#kind.isSticky && options.data !== undefined) throw new TypeError('Expected no `data` of a sticky lock: its holders share a znode, and what is in it');
    requireOpen(this.#client, `the lock ${this.#path} cannot be acquired`);
    const deadline = Deadline.ofAcquire(this.#client, this.#path, options);
    try {
      // Its signal may have aborted, or cannot be listened to.
      deadline.check();
      for (;;) {
        const held = this.#holds.heldBy(context);
        if (held) return this.#reenter(held, context, options);
        const pending = this.#pendingOf(context);
        if (pending === undefined) break;
        if (!deadline.mayWait) return this.#none(what, options);
        await settled(pending, deadline);
      }
      if (!this.#besideOf(context) && options.timeoutMs === undefined && options.signal === undefined) this.#refuseDeadlock();
      const hold = context ? await context.first(this, this.#acquire(context, deadline, options)) : this.#begin(await this.#granted(context, deadline, options), context, options);
      return hold ?? this.#none(what, options);
    } finally {
      deadline.dispose();
    }
  }

  /** It could not be had at once. */
  #none(what: string, { timeoutMs = 0 }: MutexAcquireOptions): undefined {
    if (what !== 'tryAcquire') throw new LockTimeoutError(this.#path, timeoutMs);
  }

  async #acquire(context: LockContext, deadline: Deadline, options: MutexAcquireOptions): Promise<Hold | undefined> {
    return this.#begin(await this.#granted(context, deadline, options), context, options);
  }

  #granted(context: LockContext | undefined, deadline: Deadline, options: MutexAcquireOptions): Promise<Grant | undefined> {
    const beside = this.#pair && (() => this.#besideOf(context));
    return this.#kind.acquire(deadline, { weight: options.weight, data: dataOfOptions(options), beside });
  }

  #begin(grant: Grant | undefined, context: LockContext | undefined, options: MutexAcquireOptions): Hold | undefined {
    if (grant === undefined) return undefined;
    const hold = this.#holds.add(new Hold({ grant, handles: 0 }, this.#keeper, context)).begin(leaseTermsOf(options));
    grant.onRevoke(() => this.#tellRevoked(grant));
    this.#tellIfRevoked(grant);
    return hold;
  }

  /** What the owner holds for writing, if this is the read lock: it gets in beside that at once. */
  #besideOf(context: LockContext | undefined): Grant | undefined {
    if (this.#pair?.role !== 'read') return undefined;
    const held = this.#pair.other().#holds.heldBy(context);
    if (held?.loss) throw held.loss;
    return held?.shared.grant;
  }

  /** Behind the caller's own next step: it does not know its hold yet. */
  #tellIfRevoked(grant: Grant): void {
    if (grant.node.mark === 'revoke') inNoContext(() => process.nextTick(() => this.#tellRevoked(grant)));
  }

  #tellRevoked(grant: Grant): void {
    const listener = this.#revocation;
    const hold = [...this.#holds].find((one) => one.shared.grant === grant && one.isValid);
    if (!listener || !hold) return;
    const told = new Promise((resolve) => resolve(askApplication(listener, hold)));
    told.catch((error: unknown) => this.#client.warn(`The listener of makeRevocable failed for ${hold.path}`, error));
  }

  #reenter(held: Hold, context: LockContext | undefined, options: MutexAcquireOptions): Hold {
    if (held.loss) throw held.loss;
    return this.#holds.add(new Hold(held.shared, this.#keeper, context)).begin(leaseTermsOf(options), held.leases);
  }

  #pendingOf(context: LockContext | undefined): Promise<unknown> | undefined {
    for (const owner of context?.owners() ?? []) {
      // The owner's other lock of a pair, too: a reader who overtook its own writer would wait for itself.
      const pending = owner.pendingOf(this) ?? (this.#pair && owner.pendingOf(this.#pair.other()));
      if (pending) return pending;
    }
    return undefined;
  }

  /** Not for another reader; and not for a lock of another kind, which is refused instead. */
  #waitsFor(lockName: string): boolean {
    if (this.#pair?.role === 'read' && lockName === this.#kind.lockName) return false;
    return this.#kind.lockNames.includes(lockName);
  }

  #refuseDeadlock(): void {
    for (const context of innermostContext()?.waitingForIt() ?? []) {
      for (const hold of context.allHolds()) {
        const { client, path, lockName } = hold.keeper.lock;
        if (client !== this.#client || path !== this.#path || !hold.isValid || !this.#waitsFor(lockName)) continue;
        throw new DeadlockError(this.#path, this.#pair?.role === 'write' && lockName !== this.#kind.lockName ? 'an upgrade' : 'the same');
      }
    }
  }
}

/** @internal One of the two locks of an InterProcessReadWriteLock. */
export interface ReadWriteRole {
  readonly role: 'read' | 'write';
  readonly data: Uint8Array;
  /** The other one. */
  other(): InterProcessMutex;
}

/** Told when somebody asks for a lock, with the hold that should be released; see {@link InterProcessMutex.makeRevocable}. */
export type RevocationListener = (hold: Hold) => unknown;

/** What {@link InterProcessMutex.on} tells, by event. */
export interface InterProcessMutexEvents extends HoldEvents {
  /** An acquire of this object has to wait. Told once for each znode that it waits with. */
  queued: {
    /** How many are before it, the holder included: 1 is next. */
    readonly position: number;
    /** The znode that it waits with, which will be the path of its hold. */
    readonly path: string;
  };
}

/** However it settles. */
function settled(pending: Promise<unknown>, deadline: Deadline): Promise<unknown> {
  return deadline.wait((wake) => {
    pending.then(wake, wake);
    return () => undefined;
  });
}

const noData = new Uint8Array(0);

const noOptions: MutexAcquireOptions = {};
