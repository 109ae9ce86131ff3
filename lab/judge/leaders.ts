import { znodeOf } from './history.ts';
import type { Granted, History } from './folded-history.ts';
import { nameOf } from './owner.ts';
import type { Violation } from './violation.ts';

/** A leader whose term was valid when the servers' answer arrived was shown another leader, or none. */
export function leaders(history: History): Violation[] {
  return [...history.grants.values()].flat().flatMap(ofTerm);
}

function ofTerm(term: Granted): Violation[] {
  return term.shown
    .filter(({ leader }) => leader !== znodeOf(term.granted.hold))
    .map(({ t, leader }) => ({
      check: 'leaders',
      t,
      text: `${nameOf(term)} was shown ${leader || 'nobody'} as the leader, while its own term was valid`,
      ids: [term.id],
    }));
}
