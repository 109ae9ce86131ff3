import { ForeignNodeError } from '../internals/lock-errors.js';
import { getChildren } from '../zookeeper/wire/operations.js';
import type { Session } from '../zookeeper/session/session.js';
import { foreignNames } from '../driver/names.js';
import { leaseName } from './lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';
import type { Deadline } from '../support/deadline.js';
import { join } from '../zookeeper/wire/path.js';

/** The paths of a semaphore: its own znode, and the two parent znodes below it. */
export interface SemaphoreFolders {
  readonly path: string;
  readonly locks: string;
  readonly leases: string;
}

/** The two parent znodes of Curator's InterProcessSemaphoreV2: its LOCK_PARENT and LEASE_PARENT. */
export function foldersOf(path: string): SemaphoreFolders {
  return { path, locks: join(path, 'locks'), leases: join(path, 'leases') };
}

/** Ends the call if the path has a lock of another kind, because the order between the two is unknown. */
export function refuseOtherLocks(
  { path, locks, leases }: SemaphoreFolders,
  session: Session,
  deadline: Deadline,
): void {
  session.find(getChildren(path)).then(
    (names = []) => {
      const foreign = names.filter((name) => ![locks, leases].includes(join(path, name)));
      if (foreign.length > 0) deadline.end(new ForeignNodeError(path, foreign));
    },
    () => {
      // The znode never existed, or the server could not be asked: the znodes below say more, and the next call asks
      // again.
    },
  );
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
