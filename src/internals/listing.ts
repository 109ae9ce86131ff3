import { getChildren } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { foreignNames } from '../driver/names.js';
import { OnceATick } from '../zookeeper/once-a-tick.js';

/** What the lock's children were, after which transaction. */
export class Listing {
  readonly zxid: bigint;
  readonly #names: readonly string[];
  #queue: { readonly driver: LockDriver; readonly sorted: readonly string[]; readonly foreign: readonly string[] } | undefined;

  constructor(names: readonly string[], zxid: bigint) {
    this.#names = names;
    this.zxid = zxid;
  }

  /** Sorted and sifted once for all who share it: a thousand waiters would otherwise sort a thousand names a thousand times. */
  queue(driver: LockDriver): { readonly sorted: readonly string[]; readonly foreign: readonly string[] } {
    if (this.#queue?.driver !== driver) {
      this.#queue = { driver, sorted: driver.sort(this.#names), foreign: foreignNames(this.#names, ...(driver.lockNames ?? [driver.lockName])) };
    }
    return this.#queue;
  }
}

const lists = new OnceATick(async (session, root) => {
  const { value, zxid } = await session.request(getChildren(root));
  return new Listing(value, zxid);
});

/** Lists a lock's children, once for all who ask in one tick. */
export function listChildren(session: Session, root: string): Promise<Listing> {
  return lists.ask(session, root);
}
