import { ForeignNodeError } from '../internals/lock-errors.js';
import { getChildren } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { foreignNames } from '../driver/names.js';
import { leaseName } from './lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';

/** The two folders of a semaphore. */
export interface SemaphoreFolders {
  readonly locks: string;
  readonly leases: string;
}

/**
 * How many leases are free for an acquire that does not wait: none while anybody stands in line at `locks`, because
 * that one has asked before. One round trip,
 * which writes nothing, and misses nothing that was written before.
 *
 * @throws ForeignNodeError where a folder has children of another kind of lock
 */
export async function countFreeLeases(
  session: Session,
  { locks, leases }: SemaphoreFolders,
  maxLeases: () => number,
): Promise<number> {
  session.catchUp(leases);
  const [inLine = [], taken = []] = await Promise.all([
    session.find(getChildren(locks)),
    session.find(getChildren(leases)),
  ]);
  refuseForeign(locks, foreignNames(inLine, standardDriver.lockName));
  refuseForeign(leases, foreignNames(taken, leaseName));
  return inLine.length > 0 ? 0 : Math.max(0, maxLeases() - taken.length);
}

function refuseForeign(path: string, foreign: readonly string[]): void {
  if (foreign.length > 0) throw new ForeignNodeError(path, foreign);
}
