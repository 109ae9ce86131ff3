import type { History } from '../../lab/judge/folded-history.ts';
import { seconds, type Violation } from '../../lab/judge/violation.ts';

/**
 * Znodes and watches that outlive the last client, and paths that were not empty two session timeouts after it had
 * left.
 */
export function leftovers({ end, run, lastAt }: History): Violation[] {
  const tell = (text: string): Violation => ({ check: 'leftovers', t: end?.t ?? lastAt, text, ids: [] });
  if (end === undefined) return [tell('the history has no `end`: it is unknown what is left')];
  const limitMs = 2 * run.sessionTimeoutMs;
  const late = run.paths.flatMap((path) => {
    const emptyAfterMs = end.emptyAfterMs[path];
    if (emptyAfterMs === undefined) return [tell(`${path} was never empty`)];
    return emptyAfterMs > limitMs
      ? [
          tell(
            `${path} was empty only ${seconds(emptyAfterMs)} after the last client had left, later than ${seconds(limitMs)}`,
          ),
        ]
      : [];
  });
  const left = Object.entries(end.left).flatMap(([path, names]) =>
    names.length > 0 ? [tell(`${path} still has ${names.join(', ')}`)] : [],
  );
  return [...left, ...late, ...(end.watches === 0 ? [] : [tell(`${end.watches} watches are left`)])];
}
