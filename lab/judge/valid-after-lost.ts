import type { Acquire, History } from './folded-history.ts';
import { moment, type Violation } from './violation.ts';

/** A hold that was reported valid after it had been lost or invalid: `isValid` must stay false once it is false. */
export function validAfterLost(history: History): Violation[] {
  return history.acquires.flatMap((acquire) => {
    const shutAt = Math.min(
      acquire.lost?.t ?? Infinity,
      acquire.observations.find(({ valid }) => !valid)?.t ?? Infinity,
    );
    const opened = acquire.observations.find(({ t, valid }) => valid && t > shutAt);
    return opened ? [tell(history, acquire, shutAt, opened.t)] : [];
  });
}

function tell(history: History, { id, path }: Acquire, shutAt: number, t: number): Violation {
  return {
    check: 'valid-after-lost',
    t,
    text: `${id} (${path}) was not valid at ${moment(history, shutAt)}, and was reported valid later`,
    ids: [id],
  };
}
