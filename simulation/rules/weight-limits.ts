import { grouped, type Granted, type History } from '../../lab/judge/folded-history.ts';
import { weights } from '../../lab/judge/weights.ts';
import type { Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/** After the end: no waiter with a weight was overtaken more often than its name allows. */
export function judgeWeights(claims: readonly Claim[], { tell }: Bench): void {
  const weighted = claims.filter(({ owner: { lock } }) => lock.is === 'weighted');
  if (weighted.length === 0) return;
  const grants = grouped(weighted.map(asRecorded), ({ path }) => path);
  for (const { text } of weights({ grants } as unknown as History)) tell('weights', text);
}

/** As chaos reads it from a history. */
function asRecorded({ owner: { id, lock, call, client }, hold, at }: Claim): Granted {
  return {
    id,
    path: lock.path,
    // A multi-lock passes no weight on.
    weight: call.how === 'multi' ? 1 : (call.weight ?? 1),
    incarnation: { client: client.name },
    granted: { t: at, hold: hold.path, token: hold.fencingToken, valid: true },
  } as unknown as Granted;
}
