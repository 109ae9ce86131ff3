import { grouped, type Granted, type History } from './folded-history.ts';
import { nameOf } from './owner.ts';
import type { Violation } from './violation.ts';

/** One znode, granted to two flows: somebody re-entered a lock that was another one's. */
export function strangers({ grants }: History): Violation[] {
  const holds = grouped([...grants.values()].flat(), ({ granted }) => granted.hold);
  return [...holds.values()].flatMap(([first, ...others]) =>
    others.flatMap((other) => (first === undefined || first.flow === other.flow ? [] : [tell(first, other)])),
  );
}

function tell(first: Granted, other: Granted): Violation {
  const text = `${nameOf(other)} of flow ${other.flow} was let into ${first.granted.hold}, which ${first.id} of flow ${first.flow} had acquired`;
  return { check: 'strangers', t: other.granted.t, text, ids: [first.id, other.id] };
}
