import type { Granted, History } from './folded-history.ts';
import { nameOf } from './owner.ts';
import { moment, type Violation } from './violation.ts';

/**
 * On each path, tokens grow with time from znode to znode, and a znode has one token. A grant that was not valid any more when its code came
 * to it may be late: a process can be stopped between the two.
 */
export function tokens(history: History): Violation[] {
  return [...history.grants.values()].flatMap((grants) => {
    const violations: Violation[] = [];
    const first = new Map<string, Granted>();
    let largest: Granted | undefined;
    for (const grant of grants) {
      const { hold, token, valid } = grant.granted;
      const sameZnode = first.get(hold);
      if (sameZnode === undefined) first.set(hold, grant);
      if (sameZnode) {
        if (sameZnode.granted.token !== token) violations.push(tell(history, grant, 'has another token for the same znode than', sameZnode));
      } else if (largest && token <= largest.granted.token && valid) {
        violations.push(tell(history, grant, 'comes after', largest));
      }
      if (largest === undefined || token > largest.granted.token) largest = grant;
    }
    return violations;
  });
}

function tell(history: History, grant: Granted, relation: string, earlier: Granted): Violation {
  const text = `${nameOf(grant)} ${relation} ${nameOf(earlier)} of ${moment(history, earlier.granted.t)}`;
  return { check: 'tokens', t: grant.granted.t, text, ids: [earlier.id, grant.id] };
}
