import { claimOf } from './claim.ts';
import { grouped, type Granted, type History } from './folded-history.ts';
import { arePeers, nameOf } from './owner.ts';
import { moment, type Violation } from './violation.ts';

/**
 * On each path a znode has one token, and
 * - that of a mutex's owner, or of a writer, is larger than all that were granted before it;
 * - a reader's is larger than those of all writers before it; but who goes over from writing to reading keeps the
 *   writer's;
 * - readers' among themselves, and leases', are identifiers: no two are the same, and their order says nothing.
 *
 * A grant that was not valid any more when its code came to it may be late: a process can be stopped between the two.
 */
export function tokens(history: History): Violation[] {
  return [...history.grants.values()].flatMap((grants) => onPath(grants, history));
}

function onPath(grants: readonly Granted[], history: History): Violation[] {
  const violations: Violation[] = [];
  const znodes = new Map<string, Granted>();
  const sharers = new Map<bigint, Granted>();
  const writers = grouped(
    grants.filter(({ role }) => role === 'writer'),
    ({ flow }) => flow,
  );
  let largest: Granted | undefined;
  let largestAlone: Granted | undefined;
  for (const grant of grants) {
    const { hold, token } = grant.granted;
    const isShared = grant.role === 'reader' || grant.role === 'lease';
    const sameZnode = znodes.get(hold);
    if (sameZnode) {
      if (sameZnode.granted.token !== token)
        violations.push(tell(history, grant, 'has another token for the same znode than', sameZnode));
    } else {
      znodes.set(hold, grant);
      const kept = writers.get(grant.flow)?.find((writer) => isDowngrade(writer, grant));
      const bound = isShared ? largestAlone : largest;
      const twin = isShared ? sharers.get(token) : undefined;
      if (kept) {
        if (kept.granted.token !== token)
          violations.push(tell(history, grant, 'has not the token of its writer,', kept));
      } else if (bound && token <= bound.granted.token && !arePeers(bound, grant) && isInTime(grant, history)) {
        violations.push(tell(history, grant, 'comes after', bound));
      } else if (twin) {
        violations.push(tell(history, grant, 'has the token of', twin));
      }
      if (isShared) sharers.set(token, grant);
    }
    if (largest === undefined || token > largest.granted.token) largest = grant;
    if (!isShared && (largestAlone === undefined || token > largestAlone.granted.token)) largestAlone = grant;
  }
  return violations;
}

function isDowngrade(writer: Granted, reader: Granted): boolean {
  return (
    reader.role === 'reader' &&
    writer.granted.t <= reader.calledAt &&
    Math.min(writer.releasingAt ?? Infinity, writer.lost?.t ?? Infinity) > reader.calledAt
  );
}

/** Also one whose znode a third party had deleted, or whose session it had closed, when it came. */
function isInTime(grant: Granted, history: History): boolean {
  const { from, to } = claimOf(grant, history);
  return grant.granted.valid && from <= to;
}

function tell(history: History, grant: Granted, relation: string, earlier: Granted): Violation {
  const text = `${nameOf(grant)} ${relation} ${nameOf(earlier)} of ${moment(history, earlier.granted.t)}`;
  return { check: 'tokens', t: grant.granted.t, text, ids: [earlier.id, grant.id] };
}
