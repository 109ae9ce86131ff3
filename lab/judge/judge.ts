import type { History } from './folded-history.ts';
import { foreignReentry } from './foreign-reentry.ts';
import { grantedInvalid } from './granted-invalid.ts';
import { guarded } from './guarded.ts';
import { leaders } from './leaders.ts';
import { leases } from './leases.ts';
import { overlaps } from './overlaps.ts';
import { tokens } from './tokens.ts';
import { validAfterLost } from './valid-after-lost.ts';
import type { Check, Violation } from './violation.ts';
import { weights } from './weights.ts';

const rules: readonly Check[] = [
  overlaps,
  leases,
  foreignReentry,
  grantedInvalid,
  validAfterLost,
  guarded,
  leaders,
  tokens,
  weights,
];

/**
 * The promises that a history shows to be broken, whether it was recorded of real processes or of a simulation. The two
 * judge the order of the grants apart: chaos by the calls of one process, and a simulation by the znodes on its servers,
 * because these reap an empty path at once, and the call that finds it gone creates its znode late.
 */
export function judge(history: History): Violation[] {
  return rules.flatMap((rule) => rule(history));
}
