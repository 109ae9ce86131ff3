import type { History } from '../../lab/judge/folded-history.ts';
import type { Violation } from '../../lab/judge/violation.ts';

/** Unhandled rejections, uncaught exceptions and warnings of a client process: there must be none. */
export function warnings({ events }: History): Violation[] {
  return events.flatMap((event) =>
    event.type === 'warning'
      ? [{ check: 'warnings', t: event.t, text: `${event.client}: ${event.what}: ${event.error}`, ids: [] }]
      : [],
  );
}
