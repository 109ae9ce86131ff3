import { ForeignNodeError } from '../internals/lock-errors.js';
import { getChildren } from '../zookeeper/wire/operations.js';
import type { Session } from '../zookeeper/session/session.js';
import { foreignNames } from '../driver/names.js';
import { leaseName } from './lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';

/** The two parent znodes of a semaphore. */
export interface SemaphoreFolders {
  readonly locks: string;
  readonly leases: string;
}

/**
 * Returns how many leases are free for an acquire that does not wait: none if any participant waits at `locks`, because
 * it asked before. It takes one round trip, writes nothing, and misses nothing that was written before.
 *
 * @throws ForeignNodeError when one of the two has children of another kind of lock
 */
export async function countFreeLeases(
  session: Session,
  { locks, leases }: SemaphoreFolders,
  maxLeases: number,
): Promise<number> {
  session.catchUp(leases);
  const [waiting = [], taken = []] = await Promise.all([
    session.find(getChildren(locks)),
    session.find(getChildren(leases)),
  ]);
  refuseForeign(locks, foreignNames(waiting, standardDriver.lockName));
  refuseForeign(leases, foreignNames(taken, leaseName));
  return waiting.length > 0 ? 0 : Math.max(0, maxLeases - taken.length);
}

function refuseForeign(path: string, foreign: readonly string[]): void {
  if (foreign.length > 0) throw new ForeignNodeError(path, foreign);
}
