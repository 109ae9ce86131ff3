import type { History } from '../../lab/judge/folded-history.ts';
import type { Violation } from '../../lab/judge/violation.ts';

/**
 * Unhandled rejections, uncaught exceptions and warnings of a client process: there must be none but one. The owners of
 * a process take their locks outside of contexts, and wait for each other, which the library warns of rightly.
 */
export function warnings({ events }: History): Violation[] {
  return events.flatMap((event) =>
    event.type === 'warning' && !(event.what === 'warning' && event.error.includes(outsideContexts))
      ? [{ check: 'warnings', t: event.t, text: `${event.client}: ${event.what}: ${event.error}`, ids: [] }]
      : [],
  );
}

const outsideContexts = 'Both were called outside of every lock context';
