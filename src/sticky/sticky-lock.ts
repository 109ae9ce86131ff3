import { inNoContext } from '../support/no-context.js';
import type { LockClient } from '../client/lock-client.js';
import type { Grant } from '../internals/grant.js';
import type { LockInternals } from '../internals/lock-internals.js';
import { Deadline } from '../internals/deadline.js';
import { StickyTenure, type StickyTenureOptions } from './sticky-tenure.js';

/**
 * A lock that this process keeps until somebody else wants it: who waits here stands in line in memory, and one znode stands for all of them.
 * When others have queued up, those who were in line before the news are served, and the next ones queue up behind the others.
 */
export class StickyLock {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #internals: LockInternals;
  readonly #options: StickyTenureOptions;
  #tenure: StickyTenure | undefined;

  constructor(client: LockClient, path: string, internals: LockInternals, options: StickyTenureOptions) {
    this.#client = client;
    this.#path = path;
    this.#internals = internals;
    this.#options = options;
  }

  /** As {@link LockInternals.acquire}. */
  async acquire(deadline: Deadline): Promise<Grant | undefined> {
    if (!deadline.mayWait) {
      if (this.#tenure === undefined) return this.#tryOnce(deadline);
      if (!this.#tenure.isOpen || !this.#tenure.isIdle) return undefined;
    }
    for (;;) {
      const tenure = this.#tenure?.isOpen ? this.#tenure : this.#newTenure();
      const grant = await deadline.wait<Grant | undefined>((wake, fail) => {
        const leave = tenure.join({ isPatient: deadline.mayWait, served: wake, failed: fail });
        return () => {
          leave();
          if (tenure.isUnwanted) this.#abandon.get(tenure)?.();
        };
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

  /** What ends the wait of a tenure that nobody stands in line for. */
  readonly #abandon = new WeakMap<StickyTenure, () => void>();

  #newTenure(): StickyTenure {
    const tenure = this.#open();
    const aborter = new AbortController();
    const deadline = new Deadline(this.#client, this.#path, { signal: aborter.signal });
    this.#abandon.set(tenure, () => {
      // Before anybody can join it again.
      tenure.fail(undefined);
      aborter.abort();
    });
    // It serves others, too, when the caller that began it has long gone.
    inNoContext(() => void this.#begin(tenure, deadline));
    return tenure;
  }

  async #begin(tenure: StickyTenure, deadline: Deadline): Promise<void> {
    try {
      const grant = await this.#internals.acquire(deadline);
      if (grant) tenure.begin(grant);
    } catch (error) {
      tenure.fail(error);
    } finally {
      this.#abandon.delete(tenure);
      deadline.dispose();
    }
  }

  async #tryOnce(deadline: Deadline): Promise<Grant | undefined> {
    const grant = await this.#internals.acquire(deadline);
    // Somebody else of this process may have begun a tenure meanwhile: then this hold is one of its own.
    if (grant === undefined || this.#tenure !== undefined) return grant;
    const tenure = this.#open();
    return new Promise((resolve, reject) => {
      tenure.join({ isPatient: false, served: resolve, failed: reject });
      tenure.begin(grant);
    });
  }

  #open(): StickyTenure {
    const tenure: StickyTenure = new StickyTenure(this.#options, () => {
      if (this.#tenure === tenure) this.#tenure = undefined;
    });
    this.#tenure = tenure;
    return tenure;
  }
}
