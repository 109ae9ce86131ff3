import type { Events } from '../support/events.js';
import type { LockLostError } from '../internals/lock-errors.js';
import type { Hold, HoldNews } from './hold.js';

/** What becomes of each hold of a mutex, re-entrant ones included: `acquired`, then `renewed` any number of times, then one of the other three. */
export interface HoldEvents {
  /** Told before the acquire resolves. */
  acquired: {
    /** Which one. */
    readonly hold: Hold;
  };
  /** Its lease begins anew, by `renew` or by `renewEveryMs`; of several holds under one lease, this one is told of. */
  renewed: {
    /** Which one. */
    readonly hold: Hold;
    /** What it has from now on, at most; see {@link Hold.remainingMs}. */
    readonly remainingMs: number;
  };
  /** Its lease has passed unrenewed. Its signal has aborted, its znode is still there. */
  expired: {
    /** Which one. */
    readonly hold: Hold;
    /** What its signal aborted with. */
    readonly error: LockLostError;
  };
  /** It was lost for any other reason. Its signal has aborted. */
  lost: {
    /** Which one. */
    readonly hold: Hold;
    /** What its signal aborted with. */
    readonly error: LockLostError;
  };
  /** It was released while it was valid. Told when `release` is called; the znode is deleted, or given away, in the same step. */
  released: {
    /** Which one. */
    readonly hold: Hold;
  };
}

/** Their names. */
export const holdEvents = ['acquired', 'renewed', 'expired', 'lost', 'released'] as const satisfies readonly HoldNews[];

/** Tells those who listen, if anybody does. */
export function tellNews(events: Pick<Events<HoldEvents>, 'tell' | 'isHeard'>, news: HoldNews, hold: Hold): void {
  if (events.isHeard(news)) tell(events, news, hold);
}

function tell(events: Pick<Events<HoldEvents>, 'tell'>, news: HoldNews, hold: Hold): void {
  switch (news) {
    case 'acquired':
    case 'released':
      events.tell(news, { hold });
      break;
    case 'renewed':
      events.tell(news, { hold, remainingMs: hold.remainingMs });
      break;
    case 'expired':
    case 'lost':
      if (hold.loss) events.tell(news, { hold, error: hold.loss });
  }
}
