import type { LockClient } from '../../../../../src/client/lock-client.js';
import type { MutexAcquireOptions } from '../../../../../src/mutex/acquire-options.js';
import type { Hold } from '../../../../../src/mutex/hold.js';
import type { InterProcessMutex } from '../../../../../src/mutex/inter-process-mutex.js';
import type { Plan } from './plan.js';

export interface AcquireTerms {
  /** 0: try once; undefined: as long as it takes. */
  readonly waitMs: number | undefined;
  readonly leaseMs: number | undefined;
  readonly signal: AbortSignal;
  /** Called when the acquire has to wait. */
  readonly queued: (position: number) => void;
  /** Called when another client asks for the lock. */
  readonly asked: () => void;
}

/**
 * Acquires the lock of the plan. Resolves with undefined if it is not free, and the plan does not wait. Each kind of
 * lock is loaded only where it is used.
 *
 * @throws LockTimeoutError, the reason of the signal, and what the kind of lock throws
 */
export async function acquirePlanned(client: LockClient, plan: Plan, terms: AcquireTerms): Promise<Hold | undefined> {
  const lock = await lockOf(client, plan);
  lock.on('queued', ({ position }) => terms.queued(position));
  if ('makeRevocable' in lock) lock.makeRevocable(terms.asked);
  const options: MutexAcquireOptions = {
    signal: terms.signal,
    leaseMs: terms.leaseMs,
    data: plan.data,
    ...(plan.lock.is === 'weighted' && { weight: plan.lock.weight }),
  };
  return terms.waitMs === 0
    ? lock.tryAcquire(options)
    : lock.acquire({ ...options, ...(terms.waitMs !== undefined && { timeoutMs: terms.waitMs }) });
}

async function lockOf(client: LockClient, { path, lock }: Plan) {
  switch (lock.is) {
    case 'mutex':
      return mutex(client, path);
    case 'weighted':
      return mutex(client, path, { weights: {} });
    case 'reader':
    case 'writer': {
      const { InterProcessReadWriteLock } =
        await import('../../../../../src/read-write/inter-process-read-write-lock.js');
      const both = new InterProcessReadWriteLock(client, path);
      return lock.is === 'reader' ? both.readLock : both.writeLock;
    }
    case 'semaphore': {
      const { InterProcessSemaphore } = await import('../../../../../src/semaphore/inter-process-semaphore.js');
      return new InterProcessSemaphore(client, path, { maxLeases: lock.slots });
    }
  }
}

async function mutex(client: LockClient, path: string, options = {}): Promise<InterProcessMutex> {
  // Loaded for its effect: it adds the option `weights`.
  const [{ InterProcessMutex }] = await Promise.all([
    import('../../../../../src/mutex/inter-process-mutex.js'),
    import('../../../../../src/weighted/weighted-way.js'),
  ]);
  return new InterProcessMutex(client, path, options);
}
