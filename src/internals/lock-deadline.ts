import { ClientClosedError } from '../client/report/client-errors.js';
import type { LockHost } from '../client/lock-host.js';
import { Deadline, type DeadlineErrors, type DeadlineOptions, type Progress } from '../support/deadline.js';
import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import type { Silence } from '../client/report/outage-log.js';
import type { KnownAtTimeout, TimedOut, WantedLeases } from '../client/report/timeout-text.js';
import type { Holding } from '../zookeeper/session/holding.js';
import type { Session } from '../zookeeper/session/session.js';
import { parentOf } from '../zookeeper/wire/path.js';
import { knownHolder, ownHolder } from './known-holder.js';

/** The deadline of a call about the lock at a path. Its timeout error names the lock. */
export function lockDeadline(
  host: LockHost,
  path: string,
  { what = 'acquired', ...options }: LockDeadlineOptions,
): Deadline {
  return new Deadline(host, path, errors[what], options);
}

/**
 * The deadline of an acquire. With a timeout of 0 the acquire tries once.
 *
 * @param leases for a semaphore: returns what its timeout error says about the leases
 */
export function acquireDeadline(
  host: LockHost,
  path: string,
  { timeoutMs, signal }: DeadlineOptions,
  leases?: () => WantedLeases | undefined,
): Deadline {
  return new Deadline(
    host,
    path,
    leases ? acquireErrors(leases) : acquireErrorsOfMutex,
    timeoutMs === 0 ? { signal, mayWait: false } : { timeoutMs, signal },
  );
}

export interface LockDeadlineOptions extends DeadlineOptions {
  /** The operation that the call waits for. @default 'acquired' */
  readonly what?: TimedOut;
}

const errors: Record<TimedOut, DeadlineErrors<LockHost>> = {
  acquired: errorsOf('acquired'),
  released: errorsOf('released'),
  revoked: errorsOf('revoked'),
  participants: errorsOf('participants'),
  holder: errorsOf('holder'),
};

function acquireErrors(leases?: () => WantedLeases | undefined): DeadlineErrors<LockHost> {
  return { ...errorsOf('acquired', leases), isAcquire: true };
}

const acquireErrorsOfMutex = acquireErrors();

function errorsOf(what: TimedOut, leases?: () => WantedLeases | undefined): DeadlineErrors<LockHost> {
  return {
    late: ({ caller, subject, ...call }) => timeoutError(caller, subject, { ...call, what, leases: leases?.() }),
    closed: (path) => new ClientClosedError(`the lock ${path} cannot be used any more`),
  };
}

/**
 * The error of a call whose timeout has passed, with everything that this process knows about the reason. No server is
 * asked, because the call settles at once.
 */
function timeoutError(host: LockHost, path: string, call: TimedOutCall): LockTimeoutError {
  const { sessions, report } = host;
  const session = sessions.current;
  const silence = report.silence(session);
  const isUnanswered = call.what !== 'acquired' || (silence && isTheReason(silence, call));
  return new LockTimeoutError(path, call.timeoutMs, call.what, {
    connectionState: report.state,
    ...(call.what === 'acquired' && whoHolds(session, path, call)),
    ...(isUnanswered && { reason: 'no-answer', silence, cause: silence?.cause }),
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
function isTheReason({ forMs }: Silence, { waitedMs }: Pick<TimedOutCall, 'waitedMs'>): boolean {
  return forMs >= longSilenceMs || forMs >= waitedMs * mostOfTheWait;
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
    const parent = parentOf(holding.path);
    if (parent === path || parent === `${path}/leases`) own.push(holding);
  }
  return own.sort((a, b) => a.heldSince - b.heldSince);
}
