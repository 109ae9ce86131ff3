import type { History } from './folded-history.ts';
import type { Violation } from './violation.ts';

/** What a client process should never hear of: unhandled rejections, uncaught exceptions, warnings. */
export function complaints({ events }: History): Violation[] {
  return events.flatMap((event) => (event.type === 'complaint' ? [{ check: 'complaints', t: event.t, text: `${event.client}: ${event.what}: ${event.error}`, ids: [] }] : []));
}
