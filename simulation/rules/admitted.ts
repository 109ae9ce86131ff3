import { nextByWeight } from '../../lab/judge/next-by-weight.ts';
import { decodeClaim } from '../../src/weighted/claim.ts';
import { weightedChild } from '../../src/weighted/weighted-name.ts';
import { inQueueOrder } from '../claim.ts';
import type { LockPlan } from '../plan.ts';
import type { Committed } from './bench.ts';

/** A znode that has the lock, or that no other znode keeps from it. */
export interface Admitted {
  readonly path: string;
  /** The turn in which a lease was created. Undefined if the turn is over, and for another kind of lock. */
  readonly turn?: string | undefined;
}

/** The znodes of a lock that are admitted, by the data that the servers have committed. */
export function admittedTo(lock: LockPlan, servers: Committed): Admitted[] {
  switch (lock.is) {
    case 'semaphore':
      return toLeases(lock.path, limitOf(lock, servers), servers);
    case 'semaphore-mutex':
      return toLeases(lock.path, 1, servers);
    case 'weighted':
      return byWeight(lock.path, servers);
    default:
      return queueIn(lock.path, servers).slice(0, 1);
  }
}

/** The folders and the znodes on which the answer of `admittedTo` depends. */
export function pathsOf(lock: LockPlan): string[] {
  if (lock.is === 'semaphore-mutex' || lock.is === 'semaphore') {
    const { sharedCount } = { sharedCount: undefined, ...lock };
    return [`${lock.path}/locks`, `${lock.path}/leases`, ...(sharedCount === undefined ? [] : [sharedCount])];
  }
  return [lock.path];
}

/** The first leases, and the call that has the turn while there is room for its lease. */
function toLeases(path: string, limit: number, servers: Committed): Admitted[] {
  const leases = queueIn(`${path}/leases`, servers);
  const [turn] = queueIn(`${path}/locks`, servers);
  const session = turn && servers.ownerOf(turn.path);
  const admitted = leases
    .slice(0, Math.max(0, limit))
    .map((lease) => (servers.ownerOf(lease.path) === session ? { ...lease, turn: turn?.path } : lease));
  return turn && leases.length < limit ? [...admitted, turn] : admitted;
}

function limitOf({ maxLeases, sharedCount }: Extract<LockPlan, { is: 'semaphore' }>, servers: Committed): number {
  return sharedCount === undefined ? maxLeases : (servers.get(sharedCount)?.data?.readInt32BE() ?? 0);
}

/** The holder that the lock's data name; without a holder, the next waiter. */
function byWeight(path: string, servers: Committed): Admitted[] {
  const children = servers.children(path).flatMap((name) => weightedChild(name) ?? []);
  const claim = decodeClaim(servers.get(path)?.data ?? Buffer.alloc(0));
  const { holder, overtakers } = typeof claim === 'string' ? { holder: '', overtakers: [] } : claim;
  const admitted = children.find(({ name }) => name === holder) ?? nextByWeight(children, overtakers);
  return admitted ? [{ path: `${path}/${admitted.name}` }] : [];
}

function queueIn(folder: string, servers: Committed): Admitted[] {
  return inQueueOrder(servers.children(folder)).map((name) => ({ path: `${folder}/${name}` }));
}
