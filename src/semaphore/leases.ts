import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import { NotOwnedError } from '../internals/lock-errors.js';
import type { LockHost } from '../client/lock-host.js';
import type { LockKind } from '../client/report/lock-event.js';
import { Events } from '../support/events.js';
import { LeaseInternals } from './lease-internals.js';
import type { Limit } from './lease-limit.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import { readParticipants, type Participant } from '../internals/participants.js';
import { acquireDeadline } from '../internals/lock-deadline.js';
import type { WantedLeases } from '../client/report/timeout-text.js';
import { dataOfOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import { ask, type AskOptions } from '../mutex/ask.js';
import { Hold, type HoldKeeper } from '../mutex/hold.js';
import { LostHolds } from '../mutex/lost-holds.js';
import { holdEvents, type LockObjectEvents } from '../mutex/report/hold-events.js';
import { LockReporter } from '../mutex/report/lock-reporter.js';
import type { LockMode } from '../mutex/report/lock-tracing.js';
import { withHold } from '../mutex/with-hold.js';

/** The leases of one semaphore object: acquired, and kept until they are released. */
export class Leases {
  readonly events = new Events<LockObjectEvents>('queued', ...holdEvents);
  readonly host: LockHost;
  readonly path: string;
  readonly #report: LockReporter;
  readonly limit: Limit;
  readonly #limits: UsedLimits;
  readonly #internals: LeaseInternals;
  readonly #keeper: HoldKeeper;
  /** The leases that are not yet released, the oldest first. */
  readonly #holds = new Set<Hold>();

  constructor(host: LockHost, path: string, kind: LockKind, limit: Limit) {
    this.host = host;
    this.path = path;
    this.limit = limit;
    this.#limits = host.companions.of(UsedLimits);
    const lock = { host, path, kind, lockName: 'lease-' };
    this.#report = new LockReporter(lock, this.events);
    this.#internals = new LeaseInternals(host, path, limit, this.#report);
    this.#keeper = {
      lock,
      report: this.#report,
      lost: (hold) => {
        if (this.#holds.has(hold)) this.#limits.lost.remember(hold, () => this.#forget(hold));
      },
      released: (hold) => this.#forget(hold),
    };
  }

  get isAnyValid(): boolean {
    return [...this.#holds].some((hold) => hold.isValid);
  }

  /** The leases that are not yet released, the oldest first. */
  get holds(): Hold[] {
    return [...this.#holds];
  }

  /** Acquires `quantity` leases. It rejects with LockTimeoutError also when a single try finds too few. */
  async acquire(quantity: number, options: AcquireOptions, what: LockMode = 'acquire'): Promise<Hold[]> {
    this.host.requireOpen(`the semaphore ${this.path} cannot be acquired`);
    this.#limits.enter(this.path, this.limit);
    const deadline = acquireDeadline(this.host, this.path, options, () => this.#wanted(quantity));
    this.#report.begun(deadline, what);
    try {
      deadline.check();
      const grants = await this.#internals.acquire(quantity, deadline, dataOfOptions(options));
      if (grants === undefined) throw deadline.late();
      return grants.map((grant) => {
        this.#limits.enter(this.path, this.limit);
        const hold = new Hold(grant, this.#keeper, {
          context: undefined,
          isOfJob: what === 'withLock',
          releaseTimeoutMs: options.releaseTimeoutMs,
        });
        this.#holds.add(hold);
        return hold.begin(deadline, options);
      });
    } catch (error) {
      const thrown = error instanceof LockTimeoutError ? error.with({}) : error;
      this.#report.failed(deadline, thrown, options.signal);
      throw thrown;
    } finally {
      this.#limits.leave(this.path);
      deadline.dispose();
    }
  }

  #wanted(wanted: number): WantedLeases | undefined {
    const limit = this.#internals.limit.last;
    const sharedCount = this.limit.is === 'shared' ? this.limit.path : undefined;
    return limit === undefined ? undefined : { wanted, limit, sharedCount };
  }

  /** Acquires one lease; resolves with undefined when the time is over. */
  async tryAcquire(options: AcquireOptions): Promise<Hold | undefined> {
    try {
      const [lease] = await this.acquire(1, options, 'tryAcquire');
      return lease;
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /** Runs `job` while holding one lease. */
  async withLock<T>(job: (hold: Hold) => T | PromiseLike<T>, options: AcquireOptions): Promise<T> {
    const [hold] = await this.acquire(1, options, 'withLock');
    return withHold(hold as Hold, this.path, () => job(hold as Hold));
  }

  /** Releases the oldest lease of this object that no job of `withLock` runs with. */
  release(): Promise<ReleaseOutcome> {
    const oldest = this.holds.find((hold) => !hold.isOfJob);
    return oldest
      ? oldest.release()
      : Promise.reject(
          new NotOwnedError(
            this.path,
            `Not acquired: ${this.path}: release() ends a hold that was acquired by this object and is not held by withLock, and there is no such hold. Prefer hold.release(), which names the hold`,
          ),
        );
  }

  #forget(hold: Hold): void {
    this.#limits.lost.released(hold);
    if (this.#holds.delete(hold)) this.#limits.leave(this.path);
  }

  participants(options?: AskOptions): Promise<Participant[]> {
    const question = { call: 'participants', what: 'participants', path: this.path } as const;
    return ask(this.host, question, options, (deadline) =>
      readParticipants(this.host, this.#internals.folders.leases, this.#internals.kind, deadline),
    );
  }

  holders(call: string, options?: AskOptions): Promise<Participant[]> {
    return ask(this.host, { call, what: 'holder', path: this.path }, options, (deadline) =>
      this.#internals.holders(deadline),
    );
  }

  /** Returns what `toJSON` of the object shows. */
  toJSON(): object {
    return {
      path: this.path,
      isAcquiredInThisProcess: this.isAnyValid,
      holds: this.holds.slice(0, mostShown).map((hold) => hold.toJSON()),
    };
  }
}

/** The limits of one client's semaphores by path, each while a call waits for the semaphore or holds a lease. */
class UsedLimits {
  readonly lost = new LostHolds();
  readonly #byPath = new Map<string, { readonly said: string; users: number }>();

  /** @throws RangeError if another object of this client uses the path with another limit */
  enter(path: string, limit: Limit): void {
    const said = limit.is === 'fixed' ? `maxLeases: ${limit.maxLeases}` : `sharedCount: '${limit.path}'`;
    const used = this.#byPath.get(path);
    if (used === undefined) {
      this.#byPath.set(path, { said, users: 1 });
      return;
    }
    if (used.said !== said)
      throw new RangeError(
        `Expected the semaphore ${path} to have { ${used.said} }, as another object of this client uses it, got { ${said} }`,
      );
    used.users += 1;
  }

  leave(path: string): void {
    const used = this.#byPath.get(path);
    if (used === undefined) return;
    used.users -= 1;
    if (used.users === 0) this.#byPath.delete(path);
  }
}

/** How many holds `toJSON` shows. */
const mostShown = 10;
