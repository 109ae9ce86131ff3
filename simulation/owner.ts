import type { Hold, InterProcessMutex, LeaderElection, LockClient, MutexAcquireOptions } from '../src/index.ts';
import type { CallKind } from '../lab/judge/history.ts';
import type { Call, LockPlan, Role } from './plan.ts';
import type { SimClient } from './sim-client.ts';

/** A call of a plan, made by a client. */
export interface Task {
  readonly client: SimClient;
  readonly library: LockClient;
  readonly lock: LockPlan;
  readonly call: Call;
}

/** One acquire, from its call to its release. Acquires of one flow are one owner. */
export interface Owner extends Task {
  readonly role: Role;
  readonly id: string;
  readonly flow: string;
}

export function ownerOf(task: Task, id: string, { lock = task.lock, role = task.call.role, flow = id } = {}): Owner {
  return { ...task, lock, role, id, flow };
}

/** The part of every kind of lock that a call uses. */
export interface Usable {
  acquire(options: MutexAcquireOptions): Promise<Hold>;
  tryAcquire(options: MutexAcquireOptions): Promise<Hold | undefined>;
  withLock<T>(job: (hold: Hold) => Promise<T>, options: MutexAcquireOptions): Promise<T>;
}

export function usableOf({ client, lock, library, role }: Owner): Usable {
  const made = client.lock(lock, library);
  switch (made.is) {
    case 'read-write':
      return role === 'reader' ? made.lock.readLock : made.lock.writeLock;
    case 'election':
      return asUsable(made.election);
    case 'semaphore':
      return made.semaphore;
    case 'mutex':
    case 'semaphore-mutex':
      return made.mutex;
  }
}

/** The locks of a multi-lock. */
export function mutexOf(owner: Owner): InterProcessMutex {
  return usableOf(owner) as unknown as InterProcessMutex;
}

function asUsable(election: LeaderElection): Usable {
  return {
    acquire: (options) => election.campaign(options),
    tryAcquire: (options) => election.campaign(options),
    withLock: (job, options) => election.lead(job, options),
  };
}

export function optionsOf({ call, lock, id }: Owner): MutexAcquireOptions {
  const { timeoutMs, leaseMs, renewEveryMs, weight } = call;
  return {
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(leaseMs !== undefined && { leaseMs }),
    ...(renewEveryMs !== undefined && { renewEveryMs }),
    ...(weight !== undefined && lock.is === 'weighted' && { weight }),
    ...(lock.is === 'mutex' && call.how !== 'multi' && { data: Buffer.from(id) }),
  };
}

/** The role of a whole call in a multi-lock, where a read/write lock is taken for writing. */
export function roleInMultiLock({ is }: LockPlan): Role {
  return is === 'semaphore' ? 'lease' : is === 'read-write' ? 'writer' : 'owner';
}

/** As histories name the kind of a call. */
export function kindOf({ how, timeoutMs, abortAfterMs }: Call): CallKind {
  if (how === 'try' || how === 're-entrant' || how === 'downgrade' || how === 'handler' || how === 'many') return how;
  return timeoutMs !== undefined ? 'timed' : abortAfterMs !== undefined ? 'aborted' : 'plain';
}
