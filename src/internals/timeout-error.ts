import type { LockHost } from '../client/lock-host.js';
import type { Silence } from '../client/report/outage-log.js';
import type { Progress } from '../support/deadline.js';
import type { Holding } from '../zookeeper/session/holding.js';
import type { Session } from '../zookeeper/session/session.js';
import { knownHolder, ownHolder } from './known-holder.js';
import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import type { KnownAtTimeout, TimedOut, WantedLeases } from '../client/report/timeout-text.js';

/**
 * The error of a call whose timeout has passed, with everything that this process knows about the reason. No server is
 * asked, because the call settles at once.
 */
export function timeoutError(host: LockHost, path: string, call: TimedOutCall): LockTimeoutError {
  const { sessions, report } = host;
  const session = sessions.current;
  const silence = report.silence(session);
  return new LockTimeoutError(path, call.timeoutMs, call.what, {
    connectionState: report.state,
    ...(call.what === 'acquired' && whoHolds(session, path, call)),
    ...(silence && isTheReason(silence, call) && { reason: 'no-answer', silence, cause: silence.cause }),
  });
}

/** The parts of the call that its error mentions. */
interface TimedOutCall {
  readonly timeoutMs: number;
  readonly what: TimedOut;
  readonly waitedMs: number;
  readonly progress: Progress;
  /** For a semaphore. */
  readonly leases?: WantedLeases | undefined;
}

/**
 * An answer may be outstanding for a moment at any time, and a connection may be lost right before the timeout. That is
 * not the reason of the timeout, unless the silence began with the call or has lasted long.
 */
function isTheReason({ forMs }: Silence, { what, waitedMs }: Pick<TimedOutCall, 'what' | 'waitedMs'>): boolean {
  return what !== 'acquired' || forMs >= longSilenceMs || forMs >= waitedMs * mostOfTheWait;
}

const longSilenceMs = 1_000;

const mostOfTheWait = 0.8;

/** Claims contention only if a participant was read, or is a live one of this process. */
function whoHolds(session: Session, path: string, { leases, progress }: TimedOutCall): KnownAtTimeout {
  if (leases && leases.limit < leases.wanted) return { reason: 'contention', leases };
  const own = ownHoldings(session, path);
  const ownHolds = own.length;
  const forgotten = own.find(({ isOfLiveJob }) => !isOfLiveJob);
  const named = forgotten ?? own[0];
  // Without the holds of other processes, a semaphore may have enough leases for the call.
  if (named && (leases === undefined || ownHolds + leases.wanted > leases.limit))
    return {
      reason: forgotten ? 'held-by-this-process' : 'contention',
      holder: ownHolder(session, named),
      ownHolds,
      leases,
    };
  const holder = knownHolder(session, path);
  const isContended = holder !== undefined || progress === 'behind-others';
  const reason = isContended ? 'contention' : progress === 'first' ? 'not-proven' : 'not-read';
  return { reason, holder, ownHolds, leases };
}

/**
 * The holds of this session on the lock, the oldest first. A mutex has its holds below its own znode, a semaphore below
 * `leases`.
 */
function ownHoldings(session: Session, path: string): Holding[] {
  const own: Holding[] = [];
  for (const holding of session.holdings) {
    if (holding.isInner) continue;
    const parent = holding.path.slice(0, holding.path.lastIndexOf('/'));
    if (parent === path || parent === `${path}/leases`) own.push(holding);
  }
  return own.sort((a, b) => a.heldSince - b.heldSince);
}
