import { grouped, type Granted, type History } from './folded-history.ts';
import { nameOf } from './owner.ts';
import type { Violation } from './violation.ts';

/** One znode was granted to two flows: a flow re-entered a lock that another flow held. */
export function foreignReentry({ grants }: History): Violation[] {
  const holds = grouped([...grants.values()].flat(), ({ granted }) => granted.hold);
  return [...holds.values()].flatMap(([first, ...others]) =>
    others.flatMap((other) => (first === undefined || first.flow === other.flow ? [] : [tell(first, other)])),
  );
}

function tell(first: Granted, other: Granted): Violation {
  const text = `${nameOf(other)} of flow ${other.flow} re-entered ${first.granted.hold}, which ${first.id} of flow ${first.flow} had acquired`;
  return { check: 'foreign-reentry', t: other.granted.t, text, ids: [first.id, other.id] };
}
