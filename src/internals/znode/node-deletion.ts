import type { LockHost } from '../../client/lock-host.js';
import type { Clock } from '../../support/clock.js';
import { reached } from '../../support/reached.js';
import type { Session } from '../../zookeeper/session/session.js';
import { remove } from '../../zookeeper/wire/operations.js';
import { checkExists, multi } from '../../zookeeper/wire/transaction.js';
import { isZooKeeperError } from '../../zookeeper/wire/zookeeper-error.js';

/**
 * Deletes the znode of the holder by a transaction that checks that the znode of `next` exists, because `next` has the
 * lock already.
 */
export async function handOver(holder: DeletedNode, next: DeletedNode): Promise<void> {
  try {
    const { value } = await holder.session.request(multi(checkExists(next.path), remove(holder.path)));
    const [ofNext] = value.is === 'done' ? [] : value.errors;
    if (ofNext?.is('NO_NODE')) {
      reached('handed over to a waiter whose znode is gone');
      next.foundMissing();
    } else if (value.is === 'done') holder.markDeleted();
  } catch {
    reached('hand-over: the answer was lost');
    // `deleteUntilGone` tries again, as after any other failed delete.
  }
  await deleteUntilGone(holder);
}

/** Deletes the znode, and tries again until it is gone or its session has ended. */
export async function deleteUntilGone(node: DeletedNode): Promise<void> {
  const { session } = node;
  for (let tries = 0; node.mayBeThere(); tries += 1) {
    try {
      if (node.isUnknown) await node.find();
      if (!node.mayBeThere()) continue;
      await session.request(remove(node.path));
      node.markDeleted();
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) node.foundMissing();
      else if (isZooKeeperError(error, 'CONNECTION_LOSS')) {
        reached('delete: the answer was lost');
        await session.whenConnected();
      } else if (node.mayBeThere()) await pause(node, tries, error);
    }
  }
  node.deletionEnded();
}

function pause({ session, path, lockPath, host }: DeletedNode, tries: number, error: unknown): Promise<void> {
  const { report, clock } = host;
  report.background({ type: 'delete-retried', path, error });
  report.warn(`A lock's znode under ${report.onServers(lockPath)} could not be deleted; trying again`, error);
  return sessionPause(session, clock, tries);
}

/** Waits before a request is made again that was refused `tries` times before. Resolves at once if the session ends. */
export function sessionPause(session: Session, clock: Pick<Clock, 'after'>, tries: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      cancel();
      stop();
      resolve();
    };
    const cancel = clock.after(Math.min(slowestRetryMs, 100 * 2 ** Math.min(tries, 10)), finish);
    const stop = session.onChange(() => session.isEnded && finish());
  });
}

const slowestRetryMs = 5_000;

/** A znode of this client that is to be deleted. */
interface DeletedNode {
  readonly session: Session;
  readonly path: string;
  /** The path of the lock's own znode. */
  readonly lockPath: string;
  readonly host: LockHost;
  mayBeThere(): boolean;
  readonly isUnknown: boolean;
  find(): Promise<boolean>;
  foundMissing(): void;
  markDeleted(): void;
  deletionEnded(): void;
}
