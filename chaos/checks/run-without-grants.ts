import type { History } from '../../lab/judge/folded-history.ts';
import type { Violation } from '../../lab/judge/violation.ts';

/**
 * A run in which nothing was granted, or nothing to one of the clients, or nothing on one of the paths: such a run
 * tests nothing.
 */
export function runWithoutGrants({ acquires, grants, run }: History): Violation[] {
  const granted = new Set(acquires.filter((acquire) => acquire.granted).map(({ incarnation }) => incarnation.client));
  const idle = run.clients.filter((client) => !granted.has(client));
  if (granted.size === 0) return [{ check: 'run-without-grants', t: run.t, text: 'nothing was ever granted', ids: [] }];
  const unused = run.paths.filter((path) => !grants.has(path));
  const texts = [
    ...idle.map((client) => `${client} was never granted anything`),
    ...unused.map((path) => `nothing was ever granted on ${path}`),
  ];
  return texts.map((text) => ({ check: 'run-without-grants', t: run.t, text, ids: [] }));
}
