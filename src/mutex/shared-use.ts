import type { LockClient } from '../client/lock-client.js';
import type { Grant } from '../internals/grant.js';
import { callSite } from '../support/call-site.js';
import type { Deadline } from '../support/deadline.js';
import type { Hold, HoldKeeper } from './hold.js';
import { currentContext, type LockContext } from './lock-context.js';
import { agree, describeRules, type LockRules } from './lock-rules.js';
import { SharedLock, SharedLocks } from './shared-lock.js';

/** How one mutex object uses the lock that it shares with the other objects of its client, path and kind. */
export class SharedUse {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #rules: LockRules;
  readonly #locks: SharedLocks;
  readonly #key: string;
  /** The key of the other lock of a pair. */
  readonly #pairKey: string | undefined;
  /** The keys of the locks whose holders keep this one's waiters out. */
  readonly #excludedBy: readonly string[];
  /** The lock as this object has used it last. While it is used, it is the one that all objects find. */
  #shared: SharedLock | undefined;

  constructor(client: LockClient, path: string, role: MutexRole, rules: LockRules) {
    this.#client = client;
    this.#path = path;
    this.#rules = rules;
    this.#locks = client.companions.of(SharedLocks);
    this.#key = this.#locks.keyOf(role, path);
    this.#pairKey = role === 'mutex' ? undefined : this.#locks.keyOf(role === 'read' ? 'write' : 'read', path);
    // Readers hold together.
    this.#excludedBy = [role === 'read' ? undefined : this.#key, this.#pairKey].filter((key) => key !== undefined);
  }

  /**
   * The lock, which this object uses from now on.
   *
   * @throws RangeError where another object of this client uses the path with other options
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

  /** The lock for an acquire. @throws as `shared`, of the other lock of a pair, too */
  toAcquire(): SharedLock {
    const pair = this.#pairKey === undefined ? undefined : this.#locks.get(this.#pairKey);
    if (pair) this.#agreeWith(pair);
    return this.shared;
  }

  /** An acquire begins. To be called in the same step as the application's call. */
  begin(shared: SharedLock, context: LockContext | undefined, deadline: Deadline): void {
    shared.use();
    if (this.#client.options.debug)
      this.#locks.calls.set(deadline, { path: this.#path, isOutside: context === undefined, place: callSite() });
    if (context !== undefined) return;
    shared.outsiders += 1;
    if (shared.mayBlock) this.#locks.outsideWaits.look(shared);
  }

  /** It has come to an end, whatever that is. */
  end(context: LockContext | undefined, deadline: Deadline): void {
    const shared = this.#shared;
    if (this.#client.options.debug) this.#locks.calls.delete(deadline);
    if (shared === undefined) return;
    if (context === undefined) shared.outsiders -= 1;
    if (shared.outsiders > 0) this.#locks.outsideWaits.look(shared);
    shared.leave();
  }

  /** Where an acquire was called, if the client has `debug`. */
  calledAt(deadline: Deadline): string | undefined {
    return this.#client.options.debug ? this.#locks.calls.get(deadline)?.place : undefined;
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

  /** Somebody asks for what is held by this grant. */
  askToRelease(grant: Grant): void {
    this.#shared?.askToRelease(grant);
  }

  /** What the owner that a context belongs to would re-enter. */
  heldBy(context: LockContext | undefined): Hold | undefined {
    return heldBy(context, this.#key);
  }

  /** The same of the other lock of a pair. */
  heldByPair(context: LockContext | undefined): Hold | undefined {
    return this.#pairKey === undefined ? undefined : heldBy(context, this.#pairKey);
  }

  /** The first acquire of the context's owner that is under way. */
  pendingOf(context: LockContext | undefined): Promise<unknown> | undefined {
    if (context === undefined) return undefined;
    for (const owner of context.owners()) {
      // The owner's other lock of a pair, too: a reader who overtook its own writer would wait for itself.
      const pending =
        owner.pendingOf(this.#key) ?? (this.#pairKey === undefined ? undefined : owner.pendingOf(this.#pairKey));
      if (pending) return pending;
    }
    return undefined;
  }

  /** Others of the context's owner wait for `acquiring` meanwhile. */
  first<T>(context: LockContext, acquiring: Promise<T>): Promise<T> {
    return context.first(this.#key, acquiring);
  }

  /**
   * What a release that names no hold would settle: the latest hold of the caller's context. Outside of every context
   * it is the oldest one that no live context owns, of this object if it has
   * one. Lost ones count: a late release must not end the hold of a successor.
   */
  releasable(object: HoldKeeper): Hold | undefined {
    const context = currentContext();
    if (context)
      return this.#holdsOf(context)
        .find((holds) => holds.length > 0)
        ?.at(-1);
    const unowned = this.#inUse?.unowned ?? [];
    return unowned.find((hold) => hold.keeper === object) ?? unowned[0];
  }

  /** All that such releases would settle, one after another. */
  get allReleasable(): Hold[] {
    const context = currentContext();
    return context ? this.#holdsOf(context).flat() : (this.#inUse?.unowned ?? []);
  }

  get isAnyValid(): boolean {
    return this.#inUse?.isAnyValid ?? false;
  }

  get isOwnedByCurrentContext(): boolean {
    const held = this.heldBy(currentContext());
    return held !== undefined && this.#isSame(held) && held.isValid;
  }

  /** All that were not released, the oldest first. */
  get holds(): Hold[] {
    return [...(this.#inUse?.holds ?? [])];
  }

  /** The lock, if this object or another one of its kind uses it. */
  get #inUse(): SharedLock | undefined {
    const inUse = this.#locks.get(this.#key);
    return inUse && agree(inUse.rules, this.#rules) ? inUse : undefined;
  }

  /** The caller's holds, by owner, the innermost first. */
  #holdsOf(context: LockContext): Hold[][] {
    return [...context.owners()].map((owner) => owner.holdsOf(this.#key).filter((hold) => this.#isSame(hold)));
  }

  /** Whether it is of this kind: an object with other options may hold the path, too. */
  #isSame({ keeper }: Hold): boolean {
    return keeper.lock.rules !== undefined && agree(keeper.lock.rules, this.#rules);
  }

  #agreeWith({ rules }: SharedLock): void {
    if (agree(rules, this.#rules)) return;
    throw new RangeError(
      `Expected the options of the lock ${this.#path} to be ${describeRules(rules)}, as another object of this client uses it, got ${describeRules(this.#rules)}: on one path they are one lock`,
    );
  }
}

/** A lock of its own, or one of the two of an InterProcessReadWriteLock. */
export type MutexRole = 'mutex' | 'read' | 'write';

function heldBy(context: LockContext | undefined, key: string): Hold | undefined {
  if (context === undefined) return undefined;
  for (const owner of context.owners()) {
    const hold = owner.holdOf(key);
    if (hold) return hold;
  }
  return undefined;
}
