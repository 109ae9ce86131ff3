import type { Limit } from './lease-internals.js';

/** How many leases the semaphores of one client have by path, as long as one of them is waited for or held. */
export class UsedLimits {
  readonly #byPath = new Map<string, { readonly said: string; users: number }>();

  /** @throws RangeError where somebody goes by another limit */
  enter(path: string, limit: Limit): void {
    const said = limit.is === 'fixed' ? `maxLeases: ${limit.maxLeases}` : `sharedCount: '${limit.path}'`;
    const used = this.#byPath.get(path);
    if (used === undefined) {
      this.#byPath.set(path, { said, users: 1 });
      return;
    }
    if (used.said !== said)
      throw new RangeError(
        `Expected the semaphore ${path} to have { ${used.said} }, as this client uses it already, got { ${said} }`,
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
