import { inNoContext } from '../support/no-context.js';
import type { LockHost } from '../client/lock-host.js';
import { Grant } from '../internals/grant.js';
import type { LockNode } from '../internals/znode/lock-node.js';
import type { LockInternals } from '../internals/lock-internals.js';
import type { Deadline } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import type { UsedLock } from '../mutex/mutex-way.js';
import { tryIdle } from './idle-lock.js';
import { StickyTenure } from './sticky-tenure.js';

/**
 * A lock that this process keeps until another client wants it. Callers of this process wait in memory, and one znode
 * stands for all of them. When another client has queued up, the callers that already waited are served first, and
 * later callers queue up behind that client.
 */
export class StickyLock {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #idleMs: number;
  readonly #shared: UsedLock;
  #tenure: StickyTenure | undefined;

  /** @param shared is in use while a tenure lasts, even while no caller waits for the lock or holds it */
  constructor(host: LockHost, path: string, idleMs: number, shared: UsedLock) {
    this.#host = host;
    this.#path = path;
    this.#idleMs = idleMs;
    this.#shared = shared;
  }

  /**
   * Like {@link LockInternals.acquire}, for one of the objects that share the lock. If a znode is needed, that object
   * creates it.
   */
  async acquire(deadline: Deadline, asking: StickyObject): Promise<Grant | undefined> {
    if (!deadline.mayWait) {
      if (this.#tenure === undefined) return this.#tryOnce(deadline, asking);
      deadline.follows = this.#tenure.deadline;
      if (!this.#tenure.isOpen || !this.#tenure.isIdle) return undefined;
    }
    for (;;) {
      const tenure = this.#tenure?.isOpen ? this.#tenure : this.#newTenure(asking);
      deadline.follows = tenure.deadline;
      const grant = await deadline.wait<Grant | undefined>((wake, fail) => {
        return tenure.join({ mayWait: deadline.mayWait, served: wake, failed: fail });
      });
      if (grant === undefined) {
        if (!deadline.mayWait) return undefined;
        continue;
      }
      if (deadline.isExpired) void grant.release();
      deadline.check();
      return grant;
    }
  }

  #newTenure(asking: StickyObject): StickyTenure {
    const aborter = new AbortController();
    const deadline = lockDeadline(this.#host, this.#path, { signal: aborter.signal });
    const tenure = this.#open(asking, deadline, () => aborter.abort());
    // Outside of the caller's context, because the tenure also serves other callers after this one has finished.
    inNoContext(() => void this.#begin(tenure, asking));
    return tenure;
  }

  async #begin(tenure: StickyTenure, { internals }: StickyObject): Promise<void> {
    const { deadline } = tenure;
    try {
      const grantOf = (node: LockNode): Grant => new Grant(node, { giveUp: () => tenure.release(node) });
      const grant = await internals.acquire(deadline, { grantOf });
      if (grant) tenure.begin(grant);
    } catch (error) {
      tenure.fail(error);
    } finally {
      deadline.dispose();
    }
  }

  async #tryOnce(deadline: Deadline, asking: StickyObject): Promise<Grant | undefined> {
    let tenure: StickyTenure | undefined = undefined;
    const giveUp = (node: LockNode): Promise<void> | undefined =>
      tenure ? tenure.release(node) : node.handOverOrDelete();
    const grantOf = (node: LockNode): Grant => new Grant(node, { giveUp: () => giveUp(node) });
    const lock = { host: this.#host, path: this.#path, internals: asking.internals };
    const grant = await tryIdle(lock, deadline, { grantOf });
    // Another caller of this process may have begun a tenure meanwhile. This grant is then not part of it.
    if (grant === undefined || this.#tenure !== undefined) return grant;
    // The znode already has the lock, so nothing waits.
    const opened = this.#open(asking, deadline, () => {});
    tenure = opened;
    return new Promise((resolve, reject) => {
      opened.join({ mayWait: false, served: resolve, failed: reject });
      opened.begin(grant);
    });
  }

  /** Opens a tenure. `stopQueueing` ends the wait of its znode. */
  #open({ data }: StickyObject, deadline: Deadline, stopQueueing: () => void): StickyTenure {
    const ended = (): void => {
      if (this.#tenure === tenure) this.#tenure = undefined;
      this.#shared.leave();
    };
    const options = { path: this.#path, data, deadline, idleMs: this.#idleMs, clock: this.#host.clock };
    const tenure = new StickyTenure(options, { ended, stopQueueing });
    this.#shared.use();
    this.#tenure = tenure;
    return tenure;
  }
}

/** One of the objects that share a sticky lock. */
export interface StickyObject {
  readonly internals: LockInternals;
  /** Returns the data of its znode while the lock is used. */
  readonly data: () => Uint8Array;
}
