import { claimsOf, type Claim } from './claim.ts';
import type { History } from './folded-history.ts';
import { arePeers, nameOf } from './owner.ts';
import { moment, type Violation } from './violation.ts';

/**
 * More leases of one semaphore are claimed at the same moment than it has. Every lease counts, also several of one
 * flow.
 */
export function leases(history: History): Violation[] {
  return Object.entries(history.run.leases ?? {}).flatMap(([path, max]) =>
    crowds(path, history)
      .filter((crowd) => crowd.length > max && !arePeers(...crowd.map(({ acquire }) => acquire)))
      .map((crowd) => tell(history, crowd, max)),
  );
}

/** For each grant, the claims that exist at that moment. The grant's own claim is the last. */
export function crowds(path: string, history: History): Claim[][] {
  let open: Claim[] = [];
  return claimsOf(path, history).map((claim) => (open = [...open.filter(({ to }) => to > claim.from), claim]));
}

function tell(history: History, crowd: readonly Claim[], max: number): Violation {
  const [newest, ...others] = [...crowd].reverse();
  const t = newest?.from ?? history.run.t;
  const name = newest ? nameOf(newest.acquire) : '';
  const earlier = others.map(({ acquire, to }) => `${acquire.id} until ${moment(history, to)}`).join(', ');
  return {
    check: 'leases',
    t,
    text: `${name} is one of ${crowd.length} leases, but there are only ${max}: ${earlier}`,
    ids: crowd.map(({ acquire }) => acquire.id),
  };
}
