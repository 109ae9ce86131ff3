import { lockEvent } from '../client/lock-event.js';
import type { Events } from '../support/events.js';
import type { Deadline } from '../support/deadline.js';
import { LockTimeoutError, type LockLostError } from '../internals/lock-errors.js';
import type { QueuedListener } from '../internals/znode-queue.js';
import type { HeldLock, Hold, HoldNews } from './hold.js';

/**
 * What becomes of each hold of a mutex, re-entrant ones included: `acquired`, then `renewed` any number of times, then
 * one of the other three.
 */
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
  /**
   * It was released while it was valid. Told when `release` is called; the znode is deleted, or given away, in the same
   * step.
   */
  released: {
    /** Which one. */
    readonly hold: Hold;
  };
}

/** As {@link HoldEvents}, and how an acquire comes to wait. */
export interface LockObjectEvents extends HoldEvents {
  /** An acquire of this object has to wait. Told once for each znode that it waits with. */
  queued: {
    /** Its place among the waiters: 1 is next. Of a mutex that is how many are before it, the holder included. */
    readonly position: number;
    /** The znode that it waits with: of a mutex, the path of its hold later. */
    readonly path: string;
  };
}

/** Their names. */
export const holdEvents = ['acquired', 'renewed', 'expired', 'lost', 'released'] as const satisfies readonly HoldNews[];

/** Tells the listeners of the object that has acquired the hold, and those of its client, if there are any. */
export function tellNews(events: Pick<Events<HoldEvents>, 'tell' | 'isHeard'>, news: HoldNews, hold: Hold): void {
  if (events.isHeard(news)) tell(events, news, hold);
  if (hold.keeper.lock.client.hearsLocks) tellClient(hold.keeper.lock, news, hold);
}

function tell(events: Pick<Events<HoldEvents>, 'tell'>, news: HoldNews, hold: Hold): void {
  const { handle } = hold;
  switch (news) {
    case 'acquired':
    case 'released':
      events.tell(news, { hold: handle });
      break;
    case 'renewed':
      events.tell(news, { hold: handle, remainingMs: hold.remainingMs });
      break;
    case 'expired':
    case 'lost':
      if (hold.loss) events.tell(news, { hold: handle, error: hold.loss });
  }
}

function tellClient({ client, path, kind }: HeldLock, news: HoldNews, hold: Hold): void {
  const { path: znode, fencingToken, isReentrant, loss } = hold;
  const common = { path, kind, znode, fencingToken, isReentrant };
  switch (news) {
    case 'acquired':
      client.tellLock(lockEvent({ type: news, ...common, waitedMs: hold.waitedMs }));
      break;
    case 'released':
      client.tellLock(lockEvent({ type: news, ...common, heldMs: hold.heldMs }));
      break;
    case 'renewed':
      client.tellLock(lockEvent({ type: news, ...common, remainingMs: hold.remainingMs }));
      break;
    case 'expired':
    case 'lost':
      if (loss) client.tellLock(lockEvent({ type: news, ...common, heldMs: hold.heldMs, error: loss }));
  }
}

/**
 * Tells the listeners of the client, if there are any, that an acquire came to nothing. Without an `error` a try has
 * found the lock taken.
 */
export function tellFailure(
  { client, path, kind }: HeldLock,
  { startedAt }: Pick<Deadline, 'startedAt'>,
  error: unknown,
  { signal, isTry = false }: FailedCall = {},
): void {
  if (!client.hearsLocks) return;
  const isLate = error === undefined || error instanceof LockTimeoutError;
  const type = isLate ? 'timed-out' : signal?.aborted ? 'aborted' : 'failed';
  client.tellLock(
    lockEvent({
      type,
      path,
      kind,
      waitedMs: client.clock.now() - startedAt,
      error: isLate && isTry ? undefined : error,
    }),
  );
}

/** How the call was made that came to nothing. */
interface FailedCall {
  readonly signal?: AbortSignal | undefined;
  /** It resolves with undefined where others reject with LockTimeoutError. */
  readonly isTry?: boolean;
}

/**
 * Tells the listeners of an object, and those of its client, that a call has to wait. Undefined while there are none.
 */
export function queuedListener(
  { client, path, kind }: HeldLock,
  events: Pick<Events<LockObjectEvents>, 'tell' | 'isHeard'>,
): QueuedListener | undefined {
  const isHeard = events.isHeard('queued');
  if (!isHeard && !client.hearsLocks) return undefined;
  return {
    wantsPosition: isHeard,
    tell: (position, znode) => {
      if (position !== undefined) events.tell('queued', { position, path: znode });
      if (client.hearsLocks) client.tellLock(lockEvent({ type: 'queued', path, kind, znode, position }));
    },
  };
}
