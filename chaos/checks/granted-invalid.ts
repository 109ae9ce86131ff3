import type { History } from './folded-history.ts';
import { moment, type Violation } from './violation.ts';

/** A hold that was not valid when it was yielded: an acquire yields a valid one, or none. */
export function grantedInvalid(history: History): Violation[] {
  return history.acquires.flatMap(({ id, path, granted }) => {
    if (granted === undefined || granted.valid) return [];
    return [
      {
        check: 'granted-invalid',
        t: granted.t,
        text: `${id} (${path}) was granted at ${moment(history, granted.t)} a hold that was not valid`,
        ids: [id],
      },
    ];
  });
}
