import { ForeignNodeError } from '../internals/lock-errors.js';
import { getChildren, type Operation } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { whenNoNode } from '../zookeeper/zookeeper-error.js';
import { foreignNames } from '../driver/names.js';
import { leaseName } from './lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';

/** The two folders of a semaphore. */
export interface SemaphoreFolders {
  readonly locks: string;
  readonly leases: string;
}

/**
 * How many leases are free for an acquire that does not wait: none while anybody stands in line at `locks`, because that one has asked before. One round trip,
 * which writes nothing, and misses nothing that was written before.
 *
 * @param folders below the chroot
 * @throws ForeignNodeError where a folder has children of another kind of lock
 */
export async function countFreeLeases(session: Session, chroot: string, { locks, leases }: SemaphoreFolders, maxLeases: () => number): Promise<number> {
  session.catchUp(`${chroot}${leases}`);
  const [inLine, taken] = await Promise.all([namesIn(session, getChildren(`${chroot}${locks}`)), namesIn(session, getChildren(`${chroot}${leases}`))]);
  refuseForeign(locks, foreignNames(inLine, standardDriver.lockName));
  refuseForeign(leases, foreignNames(taken, leaseName));
  return inLine.length > 0 ? 0 : Math.max(0, maxLeases() - taken.length);
}

function namesIn(session: Session, list: Operation<string[]>): Promise<string[]> {
  return session.request(list).then(({ value }) => value, whenNoNode<string[]>([]));
}

function refuseForeign(path: string, foreign: readonly string[]): void {
  if (foreign.length > 0) throw new ForeignNodeError(path, foreign);
}
