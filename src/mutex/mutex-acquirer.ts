import type { LockHost } from '../client/lock-host.js';
import type { Grant } from '../internals/grant.js';
import { ownHolder } from '../internals/known-holder.js';
import { acquireDeadline } from '../internals/lock-deadline.js';
import { DeadlockError } from '../internals/lock-errors.js';
import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import type { Deadline } from '../support/deadline.js';
import type { Events } from '../support/events.js';
import { inNoContext } from '../support/no-context.js';
import { dataOfOptions, type MutexAcquireOptions } from './acquire-options.js';
import { Hold, type HeldLock, type HoldKeeper } from './hold.js';
import type { LockObjectEvents } from './report/hold-events.js';
import { currentContext, innermostContext, type LockContext } from './lock-context.js';
import { LockReporter, type RevocationListener } from './report/lock-reporter.js';
import type { LockMode } from './report/lock-tracing.js';
import { checkMutexOptions, type CheckedMutexOptions } from './mutex-options.js';
import type { MutexQueue, MutexWay } from './mutex-way.js';
import { SharedLock, type MutexRole } from './shared-lock.js';

/**
 * Acquires the lock for one mutex object. An acquire re-enters, or waits for the first acquire of its own context, or
 * asks the servers.
 */
export class MutexAcquirer implements HoldKeeper {
  readonly lock: HeldLock;
  readonly report: LockReporter;
  readonly queue: MutexQueue;
  readonly #way: MutexWay;
  #shared: SharedLock;

  constructor(host: LockHost, path: string, { role, options, data, events }: AcquirerOptions) {
    this.report = new LockReporter({ host, path, kind: role }, events);
    this.#shared = new SharedLock(host, path, role, options.rules);
    const shared = (): SharedLock => this.#shared;
    const { foreignNodes, way } = options.rules;
    this.#way = way;
    this.queue = way.queueOf({
      host,
      path,
      driver: options.driver,
      foreignNodes,
      data: () => (this.report.isRevocable ? noData : data),
      listener: this.report,
      get shared() {
        return shared();
      },
    });
    const { lockName, writes } = this.queue;
    this.lock = { host, path, kind: role, lockName, writes, rules: options.rules };
  }

  /** The lock that this object shares with other objects. The object that uses it first creates it. */
  get shared(): SharedLock {
    return (this.#shared = this.#shared.inUse);
  }

  acquire(
    context: LockContext | undefined,
    what: 'tryAcquire',
    options: MutexAcquireOptions,
  ): Promise<Hold | undefined>;
  acquire(
    context: LockContext | undefined,
    what: Exclude<LockMode, 'tryAcquire'>,
    options: MutexAcquireOptions | undefined,
  ): Promise<Hold>;
  /**
   * Apart from the internals, this is the only function whose frame stays while an acquire waits. Ten thousand acquires
   * may wait, so it keeps few variables.
   */
  async acquire(
    context: LockContext | undefined,
    what: LockMode,
    options: MutexAcquireOptions | undefined,
  ): Promise<Hold | undefined> {
    // The same variable, because each variable is kept for as long as the call waits.
    options = options === undefined ? noOptions : checkMutexOptions(what, options, this.#way);
    this.lock.host.requireOpen(`the lock ${this.lock.path} cannot be acquired`);
    const deadline = this.#begin(context, what, options);
    try {
      // The signal may have aborted already, or may not accept a listener.
      deadline.check();
      for (;;) {
        const held = this.#shared.heldBy(context);
        if (held) return this.#reenter(held, { context, what, deadline, options });
        const pending = this.#shared.pendingOf(context);
        if (pending === undefined) break;
        if (!deadline.mayWait) return this.#none(what, deadline);
        await settled(pending, deadline);
      }
      if (!this.#heldForWriting(context) && options.timeoutMs === undefined && options.signal === undefined)
        this.#refuseDeadlock();
      const hold = context
        ? await this.#shared.first(context, this.#acquireFirst({ context, what, deadline, options }))
        : this.#granted(await this.#ask(context, deadline, options), { context, what, deadline, options });
      return hold ?? this.#none(what, deadline);
    } catch (error) {
      const explained = this.#explained(error);
      this.report.failed(deadline, explained, options.signal);
      throw explained;
    } finally {
      deadline.dispose();
      this.#shared.end(deadline);
    }
  }

  /** Asks `listener` from now on to release this object's holds; at once, if a request came before. */
  makeRevocable(listener: RevocationListener): void {
    this.report.makeRevocable(listener);
    for (const grant of new Set(this.#holds.map((hold) => hold.grant))) this.#askIfRevoked(grant);
  }

  lost(hold: Hold): void {
    this.#shared.lost(hold);
  }

  released(hold: Hold): void {
    this.#shared.released(hold);
  }

  #begin(context: LockContext | undefined, what: LockMode, options: MutexAcquireOptions): Deadline {
    this.#shared = this.#shared.toAcquire();
    const deadline = acquireDeadline(this.lock.host, this.lock.path, options);
    const isEndless = options.timeoutMs === undefined && options.signal === undefined;
    this.#shared.begin(context, deadline, isEndless);
    this.report.begun(deadline, what);
    return deadline;
  }

  /** The lock could not be acquired at once. */
  #none(what: LockMode, deadline: Deadline): undefined {
    if (what !== 'tryAcquire') throw deadline.late();
    // The error is made only for the event, because the call resolves with undefined.
    if (this.report.isHeard) this.report.failed(deadline, this.#explained(deadline.late()));
  }

  /** Returns the error with its reason, if a function around the call holds the lock as another owner. */
  #explained(error: unknown): unknown {
    if (!(error instanceof LockTimeoutError)) return error;
    // A downgrade waits for the servers alone.
    if (this.lock.kind === 'read' && this.#shared.heldByPair(currentContext())) return error;
    const [around] = this.#heldAround();
    if (around === undefined) return error;
    const { grant } = around.hold;
    return error.with({
      reason: 'held-by-this-flow',
      inFlow: around.wanted,
      holder: ownHolder(grant.node.session, grant),
    });
  }

  async #acquireFirst(call: Call): Promise<Hold | undefined> {
    return this.#granted(await this.#ask(call.context, call.deadline, call.options), call);
  }

  #ask(context: LockContext | undefined, deadline: Deadline, options: MutexAcquireOptions): Promise<Grant | undefined> {
    const heldForWriting = this.lock.kind === 'read' ? () => this.#heldForWriting(context) : undefined;
    return this.queue.acquire(deadline, { options, data: dataOfOptions(options), heldForWriting });
  }

  #granted(grant: Grant | undefined, call: Call): Hold | undefined {
    if (grant === undefined) return undefined;
    const hold = this.#newHold(grant, call).begin(call.deadline, call.options);
    grant.onRevoke(() => this.#shared.askToRelease(grant));
    this.#askIfRevoked(grant);
    return hold;
  }

  #reenter(held: Hold, call: Call): Hold {
    if (held.loss) throw held.loss;
    const { grant } = held;
    // An object that already had a hold of this grant was asked when the request came.
    const isToldLater = grant.node.mark === 'revoke' && !this.#holds.some((hold) => hold.grant === grant);
    const hold = this.#newHold(grant, call).begin(call.deadline, call.options, held.leases);
    if (isToldLater) this.#askIfRevoked(grant);
    return hold;
  }

  #newHold(grant: Grant, { context, what, options: { releaseTimeoutMs } }: Call): Hold {
    const isOfJob = what === 'withLock' || what === 'lead';
    const hold = new Hold(grant, this, { context, isOfJob, releaseTimeoutMs });
    this.#shared.add(hold);
    return hold;
  }

  /** Asks after the caller's next step, because the caller does not have its hold yet. */
  #askIfRevoked(grant: Grant): void {
    if (grant.node.mark !== 'revoke') return;
    const ask = (): void => {
      const hold = this.#holds.find((one) => one.grant === grant && one.isValid);
      if (hold) this.report.askedToRelease(hold);
    };
    inNoContext(() => process.nextTick(ask));
  }

  /** The holds of this object. */
  get #holds(): Hold[] {
    return this.shared.holds.filter((hold) => hold.keeper === this);
  }

  /** For a read lock: the write lock that the owner holds, because its owner is granted the read lock at once. */
  #heldForWriting(context: LockContext | undefined): Grant | undefined {
    if (this.lock.kind !== 'read') return undefined;
    const held = this.#shared.heldByPair(context);
    if (held?.loss) throw held.loss;
    return held?.grant;
  }

  #refuseDeadlock(): void {
    for (const { wanted } of this.#heldAround()) throw new DeadlockError(this.lock.path, wanted);
  }

  /** The holds that functions around this call have as other owners, and for which this acquire waits. */
  *#heldAround(): Generator<{ readonly hold: Hold; readonly wanted: 'the same' | 'an upgrade' }> {
    for (const context of innermostContext()?.waitingForIt() ?? []) {
      for (const hold of context.allHolds()) {
        const { host, path, lockName } = hold.keeper.lock;
        if (host !== this.lock.host || path !== this.lock.path || !hold.isValid || !this.#waitsFor(lockName)) continue;
        yield {
          hold,
          wanted: this.lock.kind === 'write' && lockName !== this.queue.lockName ? 'an upgrade' : 'the same',
        };
      }
    }
  }

  /** False for another reader, and for a lock of another kind, because that one is refused instead. */
  #waitsFor(lockName: string): boolean {
    if (this.lock.kind === 'read' && lockName === this.queue.lockName) return false;
    return this.queue.lockNames.includes(lockName);
  }
}

export interface AcquirerOptions {
  readonly role: MutexRole;
  readonly options: CheckedMutexOptions;
  /** The data of this object's znodes. */
  readonly data: Uint8Array;
  /** The events of this object. */
  readonly events: Events<LockObjectEvents>;
}

interface Call {
  readonly context: LockContext | undefined;
  readonly what: LockMode;
  readonly deadline: Deadline;
  readonly options: MutexAcquireOptions;
}

/** Waits until `pending` settles, with whatever outcome. */
function settled(pending: Promise<unknown>, deadline: Deadline): Promise<unknown> {
  return deadline.wait((wake) => {
    pending.then(wake, wake);
    return () => undefined;
  });
}

const noData = new Uint8Array(0);

const noOptions: MutexAcquireOptions = {};
