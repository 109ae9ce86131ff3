import { LostHolds } from '../mutex/lost-holds.js';
import type { Limit } from './lease-internals.js';

/** The limits of one client's semaphores by path, each while a call waits for the semaphore or holds a lease. */
export class UsedLimits {
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
