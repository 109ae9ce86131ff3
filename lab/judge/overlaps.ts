import { claimsOf, type Claim } from './claim.ts';
import type { Granted, History } from './folded-history.ts';
import { arePeers, isOneOwner, mayMeet, nameOf } from './owner.ts';
import { moment, seconds, type Violation } from './violation.ts';

/**
 * Two owners of one path whose claims overlap: two owners of a mutex, or two of which one is a writer. Claims that only
 * touch at their ends do not overlap.
 */
export function overlaps(history: History): Violation[] {
  return history.run.paths.flatMap((path) => {
    const violations: Violation[] = [];
    let open: Claim[] = [];
    for (const claim of claimsOf(path, history)) {
      open = open.filter(({ to }) => to > claim.from);
      for (const other of open)
        if (mustNotMeet(other.acquire, claim.acquire) && !beganTogether(other, claim))
          violations.push(tell(history, other, claim));
      open.push(claim);
    }
    return violations;
  });
}

/** Both began in one moment, in which one of them also ended: a history does not say which came first. */
function beganTogether(a: Claim, b: Claim): boolean {
  return a.from === b.from && Math.min(a.to, b.to) === a.from;
}

function mustNotMeet(a: Granted, b: Granted): boolean {
  return !isOneOwner(a, b) && !mayMeet(a, b) && !arePeers(a, b);
}

function tell(history: History, earlier: Claim, later: Claim): Violation {
  const both = Math.min(earlier.to, later.to) - later.from;
  const until = `${nameOf(earlier.acquire)} claims the lock until ${moment(history, earlier.to)}`;
  const text = `${until}, but ${nameOf(later.acquire)} has held it since ${moment(history, later.from)}: ${seconds(both)} together`;
  return { check: 'overlaps', t: later.from, text, ids: [earlier.acquire.id, later.acquire.id] };
}
