import type { History } from './folded-history.ts';
import type { Violation } from './violation.ts';

/** A run in which nothing was granted, or nothing to one of the clients: nothing was tested. */
export function vacuity({ acquires, run }: History): Violation[] {
  const granted = new Set(acquires.filter((acquire) => acquire.granted).map(({ incarnation }) => incarnation.client));
  const idle = run.clients.filter((client) => !granted.has(client));
  if (granted.size === 0) return [{ check: 'vacuity', t: run.t, text: 'nothing was ever granted', ids: [] }];
  return idle.map((client) => ({ check: 'vacuity', t: run.t, text: `${client} was never granted anything`, ids: [] }));
}
