import type { LockClient } from '../client/lock-client.js';
import type { Silence } from '../client/outage-log.js';
import type { Holding, Session } from '../zookeeper/session.js';
import { knownHolder, ownHolder } from './known-holder.js';
import { LockTimeoutError } from './lock-errors.js';
import type { KnownAtTimeout, TimedOut } from './timeout-text.js';

/**
 * The error of a call whose timeout has passed, with everything that this process knows about the reason. No server is
 * asked, because the call settles at once.
 */
export function timeoutError(
  client: LockClient,
  path: string,
  { timeoutMs, what, waitedMs }: TimedOutCall,
): LockTimeoutError {
  const { silence, state: connectionState } = client;
  return new LockTimeoutError(path, timeoutMs, what, {
    connectionState,
    ...(what === 'acquired' && whoHolds(client, path)),
    ...(silence &&
      isTheReason(client, silence, { what, waitedMs }) && { reason: 'no-answer', silence, cause: silence.cause }),
  });
}

/** The parts of the call that its error mentions. */
interface TimedOutCall {
  readonly timeoutMs: number;
  readonly what: TimedOut;
  readonly waitedMs: number;
}

/**
 * On a working connection, an answer may be outstanding for a moment at any time. That is not the reason of the
 * timeout, unless the silence began with the call or has lasted long.
 */
function isTheReason(
  { session }: LockClient,
  { forMs }: Silence,
  { what, waitedMs }: Pick<TimedOutCall, 'what' | 'waitedMs'>,
): boolean {
  return what !== 'acquired' || !session.isConnected || forMs >= longSilenceMs || forMs >= waitedMs * mostOfTheWait;
}

const longSilenceMs = 1_000;

const mostOfTheWait = 0.8;

function whoHolds({ session }: LockClient, path: string): KnownAtTimeout {
  const own = ownHoldings(session, path);
  const [oldest] = own;
  if (oldest) return { reason: 'held-by-this-process', holder: ownHolder(session, oldest), ownHolds: own.length };
  return { reason: 'contention', holder: knownHolder(session, path) };
}

/**
 * The holds of this session on the lock, the oldest first. A mutex has its holds below its own znode, a semaphore below
 * `leases`.
 */
function ownHoldings(session: Session, path: string): Holding[] {
  const own: Holding[] = [];
  for (const holding of session.holdings) {
    const parent = holding.path.slice(0, holding.path.lastIndexOf('/'));
    if (parent === path || parent === `${path}/leases`) own.push(holding);
  }
  return own.sort((a, b) => a.heldSince - b.heldSince);
}
