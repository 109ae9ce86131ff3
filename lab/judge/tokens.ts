import { claimOf } from './claim.ts';
import { grouped, type Granted, type History } from './folded-history.ts';
import { arePeers, isLater, isShared, nameOf } from './owner.ts';
import { moment, type Violation } from './violation.ts';

/**
 * On each path, a znode has one token. In addition:
 * - the token of a mutex's owner, or of a writer, is larger than all tokens granted before it;
 * - a reader's token is larger than those of all writers before it, except that a writer that downgrades to reading
 *   keeps its token;
 * - the tokens of readers among themselves, and of leases, are identifiers: no two are equal, and their order means
 *   nothing.
 *
 * A grant that was no longer valid when its code received it may be recorded late, because a process can be stopped in
 * between.
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
    const shares = isShared(grant);
    const sameZnode = znodes.get(hold);
    if (sameZnode) {
      if (sameZnode.granted.token !== token)
        violations.push(tell(history, grant, 'has another token for the same znode than', sameZnode));
    } else {
      znodes.set(hold, grant);
      const kept = writers.get(grant.flow)?.find((writer) => isDowngrade(writer, grant));
      const bound = shares ? largestAlone : largest;
      const twin = shares ? sharers.get(token) : undefined;
      if (kept) {
        if (kept.granted.token !== token)
          violations.push(tell(history, grant, 'does not have the token of its writer,', kept));
      } else if (bound && !isLater(grant, bound) && !arePeers(bound, grant) && isInTime(grant, history)) {
        violations.push(tell(history, grant, 'comes after', bound));
      } else if (twin) {
        violations.push(tell(history, grant, 'has the token of', twin));
      }
      if (shares) sharers.set(token, grant);
    }
    if (largest === undefined || isLater(grant, largest)) largest = grant;
    if (!shares && (largestAlone === undefined || isLater(grant, largestAlone))) largestAlone = grant;
  }
  return violations;
}

function isDowngrade(writer: Granted, reader: Granted): boolean {
  return (
    reader.role === 'reader' &&
    writer.granted.t <= reader.calledAt &&
    (writer.releasingAt ?? Infinity) > reader.calledAt &&
    // A call after the loss, at the same time, would have been refused.
    (writer.lost?.t ?? Infinity) >= reader.calledAt
  );
}

/** False also if a third party had deleted its znode, or closed its session, before the code received the grant. */
function isInTime(grant: Granted, history: History): boolean {
  const { from, to } = claimOf(grant, history);
  return grant.granted.valid && from <= to;
}

function tell(history: History, grant: Granted, relation: string, earlier: Granted): Violation {
  const text = `${nameOf(grant)} ${relation} ${nameOf(earlier)} of ${moment(history, earlier.granted.t)}`;
  return { check: 'tokens', t: grant.granted.t, text, ids: [earlier.id, grant.id] };
}
