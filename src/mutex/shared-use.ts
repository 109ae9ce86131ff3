import type { LockHost } from '../client/lock-host.js';
import type { Grant } from '../internals/grant.js';
import { callSite } from '../support/call-site.js';
import type { Deadline } from '../support/deadline.js';
import type { Hold, HoldKeeper } from './hold.js';
import { currentContext, type LockContext } from './lock-context.js';
import { agree, describeRules, type LockRules } from './lock-rules.js';
import { SharedLock, SharedLocks } from './shared-lock.js';

/**
 * The use that one mutex object makes of the lock that it shares with the other objects of its client, path and kind.
 */
export class SharedUse {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #rules: LockRules;
  readonly #locks: SharedLocks;
  readonly #key: string;
  /** The key of the other lock of a pair. */
  readonly #pairKey: string | undefined;
  /** The keys of the locks whose holders keep this one's waiters out. */
  readonly #excludedBy: readonly string[];
  /** The lock that this object used last. While it is in use, all objects find the same one. */
  #shared: SharedLock | undefined;

  constructor(host: LockHost, path: string, role: MutexRole, rules: LockRules) {
    this.#host = host;
    this.#path = path;
    this.#rules = rules;
    this.#locks = host.companions.of(SharedLocks);
    this.#key = this.#locks.keyOf(role, path);
    const pair = pairs[role];
    this.#pairKey = pair && this.#locks.keyOf(pair, path);
    // Readers do not exclude each other.
    this.#excludedBy = [role === 'read' ? undefined : this.#key, this.#pairKey].filter((key) => key !== undefined);
  }

  /**
   * Returns the lock, which this object uses from now on.
   *
   * @throws RangeError if another object of this client uses the path with other options
   */
  get shared(): SharedLock {
    const inUse = this.#locks.get(this.#key);
    if (inUse === undefined)
      return (this.#shared ??= new SharedLock(this.#locks, {
        path: this.#path,
        key: this.#key,
        rules: this.#rules,
        excludedBy: this.#excludedBy,
      }));
    if (inUse !== this.#shared) this.#agreeWith(inUse);
    this.#shared = inUse;
    return inUse;
  }

  /** Returns the lock for an acquire. @throws like `shared`, also because of the other lock of a pair */
  toAcquire(): SharedLock {
    const pair = this.#pairKey === undefined ? undefined : this.#locks.get(this.#pairKey);
    if (pair) this.#agreeWith(pair);
    return this.shared;
  }

  /**
   * Notes the beginning of an acquire. Must be called in the same step as the application's call.
   *
   * @param isEndless true if the acquire has neither a timeout nor a signal
   */
  begin(shared: SharedLock, context: LockContext | undefined, deadline: Deadline, isEndless: boolean): void {
    shared.use();
    if (this.#host.options.debug) this.#locks.calls.set(deadline, callSite());
    if (context !== undefined || !isEndless) return;
    shared.addOutsider(deadline);
    if (shared.mayBlock) this.#locks.outsideWaits.look(shared);
  }

  /** Notes the end of an acquire, with whatever outcome. */
  end(deadline: Deadline): void {
    const shared = this.#shared;
    if (this.#host.options.debug) this.#locks.calls.delete(deadline);
    if (shared === undefined) return;
    shared.deleteOutsider(deadline);
    if (shared.outsiders.length > 0) this.#locks.outsideWaits.look(shared);
    shared.leave();
  }

  /** The place where an acquire was called, if the client has `debug`. */
  calledAt(deadline: Deadline): string | undefined {
    return this.#host.options.debug ? this.#locks.calls.get(deadline) : undefined;
  }

  add(hold: Hold): void {
    this.#shared?.add(hold);
  }

  lost(hold: Hold): void {
    this.#shared?.lost(hold);
  }

  released(hold: Hold): void {
    this.#shared?.delete(hold);
    hold.context?.delete(this.#key, hold);
  }

  /** Asks the objects with a hold of this grant to release it. */
  askToRelease(grant: Grant): void {
    this.#shared?.askToRelease(grant);
  }

  /** The hold that the owner of `context` would re-enter. */
  heldBy(context: LockContext | undefined): Hold | undefined {
    return heldBy(context, this.#key);
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
        owner.pendingOf(this.#key) ?? (this.#pairKey === undefined ? undefined : owner.pendingOf(this.#pairKey));
      if (pending) return pending;
    }
    return undefined;
  }

  /** Other acquires of the context's owner wait for `acquiring`. */
  first<T>(context: LockContext, acquiring: Promise<T>): Promise<T> {
    return context.first(this.#key, acquiring);
  }

  /**
   * The hold that a release without a name ends: the latest hold of the caller's context. Outside of every context it
   * is the oldest hold of this object that no live context owns. Lost holds count, because a late release must not end
   * a newer hold. Of other objects only a lost hold can be meant: the release must not end the hold of another request.
   */
  releasable(object: HoldKeeper): Hold | undefined {
    const context = currentContext();
    if (context)
      return this.#holdsOf(context)
        .find((holds) => holds.length > 0)
        ?.at(-1);
    const releasable = this.#releasableOutside(object);
    return releasable.find((hold) => hold.keeper === object) ?? releasable[0];
  }

  /** All holds that such releases would end, one after another. */
  allReleasable(object: HoldKeeper): Hold[] {
    const context = currentContext();
    return context ? this.#holdsOf(context).flat() : this.#releasableOutside(object);
  }

  get isAnyValid(): boolean {
    return this.#inUse?.isAnyValid ?? false;
  }

  get isOwnedByCurrentContext(): boolean {
    const held = this.heldBy(currentContext());
    return held !== undefined && this.#isSame(held) && held.isValid;
  }

  /** All holds that were not released, the oldest first. */
  get holds(): Hold[] {
    return [...(this.#inUse?.holds ?? [])];
  }

  /** The lock, if this object or another object with the same options uses it. */
  get #inUse(): SharedLock | undefined {
    const inUse = this.#locks.get(this.#key);
    return inUse && agree(inUse.rules, this.#rules) ? inUse : undefined;
  }

  #releasableOutside(object: HoldKeeper): Hold[] {
    return this.#inUse?.unowned.filter((hold) => hold.keeper === object || !hold.isValid) ?? [];
  }

  /** The caller's holds, grouped by owner, the innermost owner first. */
  #holdsOf(context: LockContext): Hold[][] {
    return [...context.owners()].map((owner) => owner.holdsOf(this.#key).filter((hold) => this.#isSame(hold)));
  }

  /** True for a hold with the options of this object. An object with other options may hold the path, too. */
  #isSame({ keeper }: Hold): boolean {
    return keeper.lock.rules !== undefined && agree(keeper.lock.rules, this.#rules);
  }

  #agreeWith({ rules }: SharedLock): void {
    if (agree(rules, this.#rules)) return;
    const [used, given] = [describeRules(rules), describeRules(this.#rules)];
    const isOtherDriver = used === given ? ' with another driver object' : '';
    const advice = used === given ? 'create the driver once, or give it a class' : 'give them the same options';
    throw new RangeError(
      `Expected the options of the lock ${this.#path} to be ${used}, as another object of this client uses it, got ${given}${isOtherDriver}. Objects of one path are one lock: ${advice}`,
    );
  }
}

/** A plain mutex, one of the two locks of an InterProcessReadWriteLock, or the lock of a LeaderElection. */
export type MutexRole = 'mutex' | 'read' | 'write' | 'election';

/** The other lock of a pair. */
const pairs: { readonly [Role in MutexRole]?: MutexRole } = { read: 'write', write: 'read' };

function heldBy(context: LockContext | undefined, key: string): Hold | undefined {
  if (context === undefined) return undefined;
  for (const owner of context.owners()) {
    const hold = owner.holdOf(key);
    if (hold) return hold;
  }
  return undefined;
}
