import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import { getData } from '../zookeeper/wire/operations.js';
import { join } from '../zookeeper/wire/path.js';
import { ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { hasMarkedUuid } from '../driver/names.js';
import type { Deadline } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import type { Grant } from '../internals/grant.js';
import { isMarkedIdle } from '../internals/znode/znode-data.js';
import type { QueueOptions, Tried } from '../internals/lock-internals.js';
import type { TriedLock } from '../mutex/mutex-way.js';

/**
 * Like {@link LockInternals.acquire}, for a deadline that does not allow waiting. If another process keeps the lock
 * without using it, asks that process for it.
 */
export async function tryIdle(lock: TriedLock, deadline: Deadline, options: QueueOptions): Promise<Grant | undefined> {
  const tried = await lock.internals.tryAcquire(deadline, options);
  if (tried.is === 'granted') return tried.grant;
  return deadline.limit(
    async () => ((await isKeptIdle(lock, tried)) ? askFor(lock, deadline, options) : undefined),
    (grant) => void grant?.release(),
  );
}

/** True if the lock has one znode, and the data of that znode say that it is idle. */
async function isKeptIdle({ path }: TriedLock, { session, view }: Tried & { is: 'taken' }): Promise<boolean> {
  const name = view?.only;
  if (session === undefined || name === undefined || !hasMarkedUuid(name)) return false;
  try {
    return isMarkedIdle((await session.request(getData(join(path, name), false))).value.data);
  } catch (error) {
    if (error instanceof ZooKeeperError) return false; // gone, or not readable for this client
    throw error;
  }
}

/**
 * Queues up for a moment, unless the call has ended. The process that keeps the idle lock hands it over as soon as it sees
 * the new znode.
 */
async function askFor(
  { host, path, internals }: TriedLock,
  call: Deadline,
  options: QueueOptions,
): Promise<Grant | undefined> {
  const deadline = lockDeadline(host, path, { timeoutMs: askMs });
  call.onEnd((error) => deadline.end(error));
  try {
    return await internals.acquire(deadline, options);
  } catch (error) {
    if (error instanceof LockTimeoutError) return undefined;
    throw error;
  } finally {
    deadline.dispose();
  }
}

/** How long a single try waits for a sticky lock that is marked as idle. */
const askMs = 1_000;
