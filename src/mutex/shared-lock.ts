import type { LockHost } from '../client/lock-host.js';
import type { Grant } from '../internals/grant.js';
import type { Deadline } from '../support/deadline.js';
import type { Hold, HoldKeeper } from './hold.js';
import { currentContext, type LockContext } from './lock-context.js';
import { agree, describeRules, type LockRules } from './lock-rules.js';
import { LostHolds } from './lost-holds.js';
import { OutsideWaits } from './report/outside-waits.js';

/**
 * The state that all mutex objects of one client, path and kind share. They are one lock, because an HTTP service
 * creates an object for each request, and an inner function of the request must re-enter. The state exists while it is
 * used: by a waiting call, by a hold that was not released, or by a sticky lock that keeps its znode.
 */
export class SharedLock {
  readonly path: string;
  readonly key: string;
  readonly rules: LockRules;
  readonly #locks: SharedLocks;
  /** The key of the other lock of a pair. */
  readonly #pairKey: string | undefined;
  /** The keys of the locks whose holders keep this one's waiters out. */
  readonly #excludedBy: readonly string[];
  /** The holds that are not yet released, the oldest first. */
  readonly #holds = new Set<Hold>();
  #uses = 0;
  readonly #outsiders: Deadline[] = [];

  constructor(host: LockHost, path: string, role: MutexRole, rules: LockRules) {
    this.path = path;
    this.rules = rules;
    this.#locks = host.companions.of(SharedLocks);
    this.key = this.#locks.keyOf(role, path);
    const pair = pairs[role];
    this.#pairKey = pair && this.#locks.keyOf(pair, path);
    // Readers do not exclude each other.
    this.#excludedBy = [role === 'read' ? undefined : this.key, this.#pairKey].filter((key) => key !== undefined);
  }

  /** The same lock, as another object with the same options uses it now; this one if no object does. */
  get inUse(): SharedLock {
    const inUse = this.#locks.inUse.get(this.key);
    return inUse && agree(inUse.rules, this.rules) ? inUse : this;
  }

  /**
   * The same lock for an acquire.
   *
   * @throws RangeError if another object of this client uses the path with other options
   */
  toAcquire(): SharedLock {
    const pair = this.#pairKey === undefined ? undefined : this.#locks.inUse.get(this.#pairKey);
    if (pair) this.#agreeWith(pair);
    const inUse = this.#locks.inUse.get(this.key) ?? this;
    if (inUse !== this) this.#agreeWith(inUse);
    return inUse;
  }

  /**
   * Notes the beginning of an acquire. Must be called in the same step as the application's call.
   *
   * @param isEndless true if the acquire has neither a timeout nor a signal
   */
  begin(context: LockContext | undefined, deadline: Deadline, isEndless: boolean): void {
    this.use();
    if (context !== undefined || !isEndless) return;
    this.#outsiders.push(deadline);
    if (this.#mayBlock) this.#locks.outsideWaits.look(this);
  }

  /** Notes the end of an acquire, with whatever outcome. */
  end(deadline: Deadline): void {
    // Most often the oldest ends first, because the lock is fair.
    const at = this.#outsiders.indexOf(deadline);
    if (at === 0) this.#outsiders.shift();
    else if (at > 0) this.#outsiders.splice(at, 1);
    if (this.#outsiders.length > 0) this.#locks.outsideWaits.look(this);
    this.leave();
  }

  /** Marks the lock as used, until `leave` was called as often. */
  use(): void {
    if (this.#isUnused) this.#locks.inUse.set(this.key, this);
    this.#uses += 1;
  }

  leave(): void {
    this.#uses -= 1;
    this.#endUse();
  }

  /** Must be called between `use` and `leave`. */
  add(hold: Hold): void {
    this.#holds.add(hold);
    hold.context?.add(this.key, hold);
  }

  /** Keeps a lost hold until its release, so that a late `release()` ends this hold and not a newer one. */
  lost(hold: Hold): void {
    if (this.#holds.has(hold)) this.#locks.lost.remember(hold, () => this.#delete(hold));
  }

  released(hold: Hold): void {
    if (hold.loss) this.#locks.lost.released(hold);
    this.#delete(hold);
    hold.context?.delete(this.key, hold);
  }

  #delete(hold: Hold): void {
    this.#holds.delete(hold);
    this.#endUse();
  }

  #endUse(): void {
    // Another object may have begun to use the lock with a state of its own.
    if (this.#isUnused && this.#locks.inUse.get(this.key) === this) this.#locks.inUse.delete(this.key);
  }

  get #isUnused(): boolean {
    return this.#uses === 0 && this.#holds.size === 0;
  }

  /** Asks each object with a hold of this grant once, by its first hold. */
  askToRelease(grant: Grant): void {
    const asked = new Set<HoldKeeper>();
    for (const hold of [...this.#holds]) {
      if (hold.grant !== grant || asked.has(hold.keeper) || !hold.isValid) continue;
      asked.add(hold.keeper);
      hold.keeper.report.askedToRelease(hold);
    }
  }

  /** The hold that the owner of `context` would re-enter. */
  heldBy(context: LockContext | undefined): Hold | undefined {
    return heldBy(context, this.key);
  }

  /** The same for the other lock of a pair. */
  heldByPair(context: LockContext | undefined): Hold | undefined {
    return this.#pairKey === undefined ? undefined : heldBy(context, this.#pairKey);
  }

  /** The first acquire of the context's owner that is still in progress. */
  pendingOf(context: LockContext | undefined): Promise<unknown> | undefined {
    if (context === undefined) return undefined;
    for (const owner of context.owners()) {
      // Checks the other lock of the pair too, because a reader that overtook its own writer would wait for itself.
      const pending =
        owner.pendingOf(this.key) ?? (this.#pairKey === undefined ? undefined : owner.pendingOf(this.#pairKey));
      if (pending) return pending;
    }
    return undefined;
  }

  /** Other acquires of the context's owner wait for `acquiring`. */
  first<T>(context: LockContext, acquiring: Promise<T>): Promise<T> {
    return context.first(this.key, acquiring);
  }

  /**
   * The holds that releases without a name end, one after another: those of the caller's context, the latest first.
   * Outside of every context they are the holds that no live context owns, the oldest first: those of this object, and
   * then the lost ones of other objects, because a release must not end the hold of another request. Lost holds count,
   * because a late release must not end a newer hold.
   */
  releasable(object: HoldKeeper): Hold[] {
    const context = currentContext();
    if (context)
      return [...context.owners()].flatMap((owner) =>
        owner
          .holdsOf(this.key)
          .filter((hold) => this.#isSame(hold))
          .reverse(),
      );
    // The context of a job of `withLock` ends a few microtasks before `withLock` releases its hold.
    const unowned = [...this.#holds].filter((hold) => !hold.isOfJob && !hold.context?.isLive);
    const lostOfOthers = unowned.filter((hold) => hold.keeper !== object && !hold.isValid);
    return [...unowned.filter((hold) => hold.keeper === object), ...lostOfOthers];
  }

  get isOwnedByCurrentContext(): boolean {
    const held = this.heldBy(currentContext());
    return held !== undefined && this.#isSame(held) && held.isValid;
  }

  get isAnyValid(): boolean {
    for (const hold of this.#holds) if (hold.isValid) return true;
    return false;
  }

  /** All holds that were not released, the oldest first. */
  get holds(): Hold[] {
    return [...this.#holds];
  }

  /**
   * The acquires in progress outside of every lock context that have neither a timeout nor a signal, the oldest first.
   * An array, because a set would take three times its memory for ten thousand waiters.
   */
  get outsiders(): readonly Deadline[] {
    return this.#outsiders;
  }

  /** The oldest hold of this process that blocks the waiters and that no live context owns. */
  get blockingOutsiders(): Hold | undefined {
    for (const key of this.#excludedBy) {
      const other = this.#locks.inUse.get(key);
      for (const hold of other ? other.#holds : []) if (hold.isOpen && !hold.context?.isLive) return hold;
    }
    return undefined;
  }

  /**
   * False if no hold of this process can block the waiters of this lock. Fast for a lock that is free when it is
   * acquired, as most locks are.
   */
  get #mayBlock(): boolean {
    return this.#holds.size > 0 || this.#excludedBy.length > 1 || this.#excludedBy[0] !== this.key;
  }

  /** True for a hold with the options of this object. An object with other options may hold the path, too. */
  #isSame({ keeper }: Hold): boolean {
    return keeper.lock.rules !== undefined && agree(keeper.lock.rules, this.rules);
  }

  #agreeWith({ rules }: SharedLock): void {
    if (agree(rules, this.rules)) return;
    const [used, given] = [describeRules(rules), describeRules(this.rules)];
    const isOtherDriver = used === given ? ' with another driver object' : '';
    const advice = used === given ? 'create the driver once, or give it a class' : 'give them the same options';
    throw new RangeError(
      `Expected the options of the lock ${this.path} to be ${used}, as another object of this client uses it, got ${given}${isOtherDriver}. Objects of one path are one lock: ${advice}`,
    );
  }
}

/** The locks that the mutex objects of one client use now. */
export class SharedLocks {
  readonly outsideWaits: OutsideWaits;
  readonly lost = new LostHolds();
  /** By their keys. */
  readonly inUse = new Map<string, SharedLock>();
  readonly #number = (count += 1);

  constructor(host: LockHost) {
    this.outsideWaits = new OutsideWaits(host);
  }

  /**
   * Returns the same key for all objects of one lock. The key contains the number of the client, because a lock context
   * may hold locks of several clients.
   */
  keyOf(kind: string, path: string): string {
    return `${this.#number} ${kind} ${path}`;
  }
}

/** A plain mutex, one of the two locks of an InterProcessReadWriteLock, or the lock of a LeaderElection. */
export type MutexRole = 'mutex' | 'read' | 'write' | 'election';

/** The other lock of a pair. */
const pairs: { readonly [Role in MutexRole]?: MutexRole } = { read: 'write', write: 'read' };

/** The number of the last client. */
let count = 0;

function heldBy(context: LockContext | undefined, key: string): Hold | undefined {
  if (context === undefined) return undefined;
  for (const owner of context.owners()) {
    const hold = owner.holdOf(key);
    if (hold) return hold;
  }
  return undefined;
}
