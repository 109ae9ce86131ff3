import type { History } from './folded-history.ts';
import type { Violation } from './violation.ts';

/** What a client process should never hear of: unhandled rejections, uncaught exceptions, warnings. */
export function warnings({ events }: History): Violation[] {
  return events.flatMap((event) =>
    event.type === 'warning'
      ? [{ check: 'warnings', t: event.t, text: `${event.client}: ${event.what}: ${event.error}`, ids: [] }]
      : [],
  );
}
