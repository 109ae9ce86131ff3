import type { LockHost } from '../client/lock-host.js';
import type { Deadline } from '../support/deadline.js';
import type { Grant } from '../internals/grant.js';
import type { StickyLock } from '../sticky/sticky-lock.js';
import type { Hold, HoldKeeper } from './hold.js';
import type { LockRules } from './lock-rules.js';
import { LostHolds } from './lost-holds.js';
import { OutsideWaits } from './outside-waits.js';

/** The locks that the mutex objects of one client use now, by their keys. */
export class SharedLocks {
  /** The places where the acquires in progress were called, if the client has `debug`. */
  readonly calls = new Map<Deadline, string>();
  readonly outsideWaits: OutsideWaits;
  readonly #number = (count += 1);
  readonly #inUse = new Map<string, SharedLock>();
  readonly lost = new LostHolds();

  constructor(host: LockHost) {
    this.outsideWaits = new OutsideWaits(host, this.calls);
  }

  /**
   * Returns the same key for all objects of one lock. The key contains the number of the client, because a lock context
   * may hold locks of several clients.
   */
  keyOf(kind: string, path: string): string {
    return `${this.#number} ${kind} ${path}`;
  }

  get(key: string): SharedLock | undefined {
    return this.#inUse.get(key);
  }

  /** How many locks are in use. */
  get size(): number {
    return this.#inUse.size;
  }

  /** Adds a lock that is used from now on. */
  add(lock: SharedLock): void {
    this.#inUse.set(lock.key, lock);
  }

  /** Removes a lock that is not used any more. */
  delete(lock: SharedLock): void {
    if (this.#inUse.get(lock.key) === lock) this.#inUse.delete(lock.key);
  }
}

/**
 * The state that all mutex objects of one client, path and kind share. They are one lock, because an HTTP service
 * creates an object for each request, and an inner function of the request must re-enter. The state exists while it is
 * used: by a waiting call, by a hold that was not released, or by a sticky lock that keeps its znode.
 */
export class SharedLock {
  readonly path: string;
  readonly key: string;
  readonly rules: LockRules;
  /** The keys of the locks whose holders keep its waiters out. */
  readonly excludedBy: readonly string[];
  /** For sticky objects: the lock that keeps one znode for all of them. */
  sticky: StickyLock | undefined;
  readonly #locks: SharedLocks;
  /** The holds that are not yet released, the oldest first. */
  readonly #holds = new Set<Hold>();
  #uses = 0;
  readonly #outsiders: Deadline[] = [];

  constructor(
    locks: SharedLocks,
    { path, key, rules, excludedBy }: Pick<SharedLock, 'path' | 'key' | 'rules' | 'excludedBy'>,
  ) {
    this.#locks = locks;
    this.path = path;
    this.key = key;
    this.rules = rules;
    this.excludedBy = excludedBy;
  }

  /** Marks the lock as used, until `leave` was called as often. */
  use(): void {
    if (this.#isUnused) this.#locks.add(this);
    this.#uses += 1;
  }

  leave(): void {
    this.#uses -= 1;
    if (this.#isUnused) this.#locks.delete(this);
  }

  /**
   * The acquires in progress outside of every lock context that have neither a timeout nor a signal, the oldest first.
   * An array, because a set would take three times its memory for ten thousand waiters.
   */
  get outsiders(): readonly Deadline[] {
    return this.#outsiders;
  }

  addOutsider(deadline: Deadline): void {
    this.#outsiders.push(deadline);
  }

  deleteOutsider(deadline: Deadline): void {
    // Most often the oldest ends first, because the lock is fair.
    const at = this.#outsiders.indexOf(deadline);
    if (at === 0) this.#outsiders.shift();
    else if (at > 0) this.#outsiders.splice(at, 1);
  }

  /** Must be called between `use` and `leave`. */
  add(hold: Hold): void {
    this.#holds.add(hold);
    hold.context?.add(this.key, hold);
  }

  delete(hold: Hold): void {
    this.#locks.lost.released(hold);
    this.#holds.delete(hold);
    if (this.#isUnused) this.#locks.delete(this);
  }

  /** Keeps a lost hold until its release, so that a late `release()` ends this hold and not a newer one. */
  lost(hold: Hold): void {
    if (this.#holds.has(hold)) this.#locks.lost.remember(hold, () => this.delete(hold));
  }

  get holds(): ReadonlySet<Hold> {
    return this.#holds;
  }

  get isAnyValid(): boolean {
    for (const hold of this.#holds) if (hold.isValid) return true;
    return false;
  }

  /**
   * The holds that no live context owns, the oldest first. Holds of `withLock` are left out, because the context of the
   * job ends a few microtasks before `withLock` releases the hold.
   */
  get unowned(): Hold[] {
    return [...this.#holds].filter((hold) => !hold.isOfJob && !hold.context?.isLive);
  }

  /**
   * False if no hold of this process can block the waiters of this lock. Fast for a lock that is free when it is
   * acquired, as most locks are.
   */
  get mayBlock(): boolean {
    return this.#holds.size > 0 || this.excludedBy.length > 1 || this.excludedBy[0] !== this.key;
  }

  /** The oldest hold of this process that blocks the waiters and that no live context owns. */
  get blockingOutsiders(): Hold | undefined {
    for (const key of this.excludedBy) {
      for (const hold of this.#locks.get(key)?.holds ?? []) if (hold.isOpen && !hold.context?.isLive) return hold;
    }
    return undefined;
  }

  /** Asks each object with a hold of this grant once, by its first hold. */
  askToRelease(grant: Grant): void {
    const asked = new Set<HoldKeeper>();
    for (const hold of [...this.#holds]) {
      if (hold.shared.grant !== grant || asked.has(hold.keeper) || !hold.isValid) continue;
      asked.add(hold.keeper);
      hold.keeper.askToRelease(hold);
    }
  }

  get #isUnused(): boolean {
    return this.#uses === 0 && this.#holds.size === 0;
  }
}

let count = 0;
