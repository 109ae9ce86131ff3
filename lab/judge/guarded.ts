import type { Granted, History } from './folded-history.ts';
import { isLater, isShared, nameOf } from './owner.ts';
import type { Violation } from './violation.ts';

/**
 * The transactions of the holds of one path, in the order in which ZooKeeper did them: none comes after one of a holder
 * with a larger token. Readers and leases do not exclude each other's.
 */
export function guarded(history: History): Violation[] {
  return [...history.grants.values()].flatMap(onPath);
}

function onPath(grants: readonly Granted[]): Violation[] {
  const done = grants
    .filter((grant) => !isShared(grant))
    .flatMap((grant) => grant.guarded.map((zxid) => ({ zxid, grant })));
  done.sort((a, b) => (a.zxid < b.zxid ? -1 : 1));
  const violations: Violation[] = [];
  let largest: Granted | undefined;
  for (const { zxid, grant } of done) {
    if (largest && isLater(largest, grant)) {
      violations.push({
        check: 'guarded',
        t: grant.granted.t,
        text: `${nameOf(grant)} wrote by its hold, in transaction 0x${zxid.toString(16)}, after ${nameOf(largest)}`,
        ids: [largest.id, grant.id],
      });
    } else {
      largest = grant;
    }
  }
  return violations;
}
