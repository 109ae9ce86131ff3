import type { History } from './folded-history.ts';
import { moment, type Violation } from './violation.ts';

/** A hold that was not valid when the acquire returned it. An acquire must return a valid hold, or none. */
export function grantedInvalid(history: History): Violation[] {
  return history.acquires.flatMap(({ id, path, granted }) => {
    if (granted === undefined || granted.valid) return [];
    return [
      {
        check: 'granted-invalid',
        t: granted.t,
        text: `${id} (${path}) was granted a hold at ${moment(history, granted.t)} that was not valid`,
        ids: [id],
      },
    ];
  });
}
