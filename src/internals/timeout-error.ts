import type { LockClient } from '../client/lock-client.js';
import type { Silence } from '../client/outage-log.js';
import type { Holding, Session } from '../zookeeper/session.js';
import { knownHolder, ownHolder } from './known-holder.js';
import { LockTimeoutError } from './lock-errors.js';
import type { KnownAtTimeout, TimedOut } from './timeout-text.js';

/**
 * The error of a call whose time is over, with all that this process knows of the reason. Asks nobody: the call settles
 * at once.
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

/** The call, as far as its error tells of it. */
interface TimedOutCall {
  readonly timeoutMs: number;
  readonly what: TimedOut;
  readonly waitedMs: number;
}

/**
 * On a connection that works an answer may be due for a moment at any time: that is not the reason, unless nothing that
 * the call has asked was answered.
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

/** Of a mutex below its znode, of a semaphore among its leases; the oldest first. */
function ownHoldings(session: Session, path: string): Holding[] {
  const own: Holding[] = [];
  for (const holding of session.holdings) {
    const parent = holding.path.slice(0, holding.path.lastIndexOf('/'));
    if (parent === path || parent === `${path}/leases`) own.push(holding);
  }
  return own.sort((a, b) => a.heldSince - b.heldSince);
}
