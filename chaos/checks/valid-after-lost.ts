import type { Acquire, History } from './folded-history.ts';
import { moment, type Violation } from './violation.ts';

/** A hold that was said to be valid after it had been lost, or not valid, before: once false is always false. */
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
    text: `${id} (${path}) was not valid at ${moment(history, shutAt)}, and said later that it is`,
    ids: [id],
  };
}
