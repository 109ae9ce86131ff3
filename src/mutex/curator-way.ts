import { LockInternals } from '../internals/lock-internals.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { readHolder, readParticipants } from '../internals/participants.js';
import type { QueueKind } from '../internals/queue-view.js';
import type { InternalLock } from '../internals/znode-queue.js';
import { wayOptions, type MutexQueue, type MutexWay, type QueuedLock } from './mutex-way.js';

/** Curator's way: each acquire has a znode of its own, which its release deletes. */
export const curatorWay: MutexWay = {
  text: undefined,
  agrees: (other) => other === curatorWay,
  checkAcquire: () => undefined,
  queueOf: (lock) => {
    const { internals, ...queue } = orderedQueue(lock);
    const { host, path } = lock;
    const asking = wayOptions().find((option) => option.tryAcquire !== undefined);
    const tryOnce: MutexQueue['acquire'] = (deadline, wish) =>
      asking?.tryAcquire?.({ host, path, internals }, deadline, wish) ?? internals.acquire(deadline, wish);
    return {
      ...queue,
      // A read lock whose owner holds the write lock is granted at once, so it asks no other holder.
      acquire: (deadline, wish) =>
        deadline.mayWait || wish.heldForWriting?.() ? internals.acquire(deadline, wish) : tryOnce(deadline, wish),
    };
  },
};

/** The queue in the order of a driver, without the way to acquire. */
export function orderedQueue(lock: QueuedLock, { hasMarkedUuid = false } = {}): OrderedParts {
  const { path, driver, foreignNodes } = lock;
  const kind = new OrderedQueue(driver, { path, foreignNodes });
  return {
    internals: new LockInternals(internalLock(lock, kind, hasMarkedUuid)),
    lockName: driver.lockName,
    lockNames: driver.lockNames ?? [driver.lockName],
    writes: [],
    ...queueReaders(lock, kind),
  };
}

interface OrderedParts extends Omit<MutexQueue, 'acquire'> {
  readonly internals: LockInternals;
}

export function internalLock(lock: QueuedLock, kind: QueueKind, hasMarkedUuid = false): InternalLock {
  const { host, path, data, listener } = lock;
  return { host, path, kind, data, hasMarkedUuid, listener };
}

export function queueReaders({ host, path }: QueuedLock, kind: QueueKind): Pick<MutexQueue, 'participants' | 'holder'> {
  return {
    participants: (deadline) => readParticipants(host, path, kind, deadline),
    holder: (deadline) => readHolder(host, path, kind, deadline),
  };
}
