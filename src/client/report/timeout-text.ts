import type { ConnectionState } from './connection-state.js';
import { durationText } from './duration-text.js';

/** The operation that did not finish within `timeoutMs`, for the text of a {@link LockTimeoutError}. */
export type TimedOut = 'acquired' | 'released' | 'revoked' | 'participants' | 'holder';

/**
 * The reason why a call did not finish in time:
 * - `contention`: other participants hold the lock, or are before this waiter in the queue; they may be jobs of this
 *   process; or the shared count of a semaphore is lower than the number of leases that the call wants;
 * - `not-read`: the servers answered, but the call did not learn its place in the queue in time, so the lock may be free;
 * - `not-proven`: nobody was before this waiter, but its session did not prove in time that it is alive;
 * - `no-answer`: no server answered, because of an outage or because the timeout was too short for an answer; `cause`
 *   is the last error of the connection;
 * - `held-by-this-process`: this process itself holds the lock, by the same client, and no live job or lock context
 *   has that hold;
 * - `held-by-this-flow`: a function around the call holds the lock as another owner, so that it cannot have released
 *   the lock in time.
 */
export type TimeoutReason =
  'contention' | 'not-read' | 'not-proven' | 'no-answer' | 'held-by-this-process' | 'held-by-this-flow';

/** The holder of a lock, as far as a waiting process knows. */
export interface KnownHolder {
  /** The path of its znode, below the client's chroot. */
  readonly path: string;
  /** Its ZooKeeper session, written as in the servers' logs. `0x0`: no session owns its znode, which never goes by itself. */
  readonly sessionId: string;
  /**
   * Its host name if the holder wrote it with `data: 'owner'`, else its address. Undefined if its znode contains
   * neither.
   */
  readonly host: string | undefined;
  /** Its process id, if the holder wrote it with `data: 'owner'` or is this process; else undefined. */
  readonly pid: number | undefined;
  /** The time of the grant. Known only for a holder in this process. */
  readonly heldSince: Date | undefined;
  /** The time at which it joined the queue, by the servers' clock. Known only for a holder in another process. */
  readonly queuedSince: Date | undefined;
}

/** The information that this process has when the timeout of a call passes. Every field may be missing. */
export interface KnownAtTimeout {
  readonly reason?: TimeoutReason | undefined;
  /** The number of participants before this waiter, the holder included. */
  readonly position?: number | undefined;
  readonly holder?: KnownHolder | undefined;
  /** The number of holds that this process has of the lock: more than one for a semaphore, or for readers. */
  readonly ownHolds?: number | undefined;
  /** For a semaphore whose limit is known. */
  readonly leases?: WantedLeases | undefined;
  /**
   * The hold of this flow that prevents the acquire: the lock itself, or the read lock where the write lock is wanted.
   */
  readonly inFlow?: 'the same' | 'an upgrade' | undefined;
  readonly connectionState?: ConnectionState | undefined;
  /** `forMs`: milliseconds since a server answered last. `why`: the last error. */
  readonly silence?: { readonly forMs: number; readonly why: string } | undefined;
  readonly cause?: unknown;
  /** For a lock that was not asked for: what used up the time of the call. */
  readonly timeWent?: string | undefined;
}

/** The number of leases of a semaphore, and the number that a call wants. */
export interface WantedLeases {
  readonly wanted: number;
  /** The limit when it was last read. */
  readonly limit: number;
  /** The path of the znode that contains the limit; undefined for `maxLeases`. */
  readonly sharedCount: string | undefined;
}

/** The text of a {@link LockTimeoutError}: the operation that did not finish, the reason, and what to do. */
export function timeoutText(path: string, timeoutMs: number, what: TimedOut, known: KnownAtTimeout): string {
  const why = reasonText(what, known);
  return `${timedOutTexts[what](path)} within ${timeoutMs} ms${why === undefined ? '' : `: ${why}`}`;
}

function reasonText(what: TimedOut, known: KnownAtTimeout): string | undefined {
  const { reason, holder } = known;
  switch (reason) {
    case undefined:
      return known.timeWent === undefined ? undefined : `${known.timeWent}. Give the call more time`;
    case 'no-answer':
      return silenceText(what, known);
    case 'held-by-this-flow':
      return known.inFlow === 'an upgrade'
        ? `this flow holds the lock for reading${since(holder)}, and a reader is never granted the write lock. Release the read lock first, or acquire the write lock from the start`
        : `a function around this call holds the lock${since(holder)}, as another owner, so that both may wait for each other. Acquire the lock in the lock context that holds it, which re-enters, or release that hold first`;
    case 'held-by-this-process':
      return `${heldHere(known)}. Was \`release()\` forgotten? Use withLock or await using, which release the lock by themselves`;
    case 'contention':
      return contentionText(known);
    case 'not-read':
      return 'the answers about its place in the queue did not arrive in time, so the lock may be free. Give the call more time. If that does not help, check that the servers answer';
    case 'not-proven':
      return 'nobody was ahead in the queue, but no server had confirmed in time that the session is alive. Give the call more time';
  }
}

function silenceText(what: TimedOut, { silence, position, connectionState }: KnownAtTimeout): string {
  if (!silence) return 'the answers of the servers did not arrive in time. Give the call more time';
  const isConnected = connectionState === 'connected' || connectionState === 'reconnected';
  const text = `no server has answered for ${durationText(silence.forMs)}; last: ${silence.why}`;
  const place = position === undefined ? '' : `. Before that, ${before(position, 'were')}`;
  const advice =
    isConnected && silence.forMs < mostForAnAnswerMs
      ? 'Give the call more time than an answer takes'
      : 'Check that the servers run, and that this host can reach them';
  return what === 'acquired' ? `${text}${place}. ${advice}` : `${text}. ${advice}`;
}

/** A server that needs longer than this for an answer is in trouble. */
const mostForAnAnswerMs = 1_000;

function heldHere({ holder, ownHolds = 1, position, leases }: KnownAtTimeout): string {
  if (leases && ownHolds < leases.limit)
    return `this process has ${ownHolds} of ${leases.limit} leases${since(holder)}${holder ? ` with ${holder.path}` : ''}, and wants ${leases.wanted} more`;
  const times = ownHolds > 1 ? ` ${ownHolds} times, the longest${since(holder)}` : since(holder);
  return `the lock is held by this process${times}${holder ? ` with ${holder.path}` : ''}${position !== undefined && position > 1 ? `; ${before(position)}` : ''}`;
}

function contentionText({ holder, position, ownHolds = 0, leases }: KnownAtTimeout): string {
  if (leases && leases.limit < leases.wanted)
    return `the shared count ${leases.sharedCount ?? ''} is ${leases.limit}, so the semaphore ${leases.limit < 1 ? 'grants no lease' : `never grants ${leases.wanted} leases to one call`}. Raise the shared count`;
  const parts = [position === undefined ? 'others hold the lock, or are ahead in the queue' : before(position)];
  if (holder?.heldSince) {
    const held = leases
      ? `a job of this process, perhaps around this call, holds ${ownHolds} of ${leases.limit} leases`
      : 'another job of this process holds the lock';
    parts[0] = `${held}${since(holder)} with ${holder.path}`;
    if (position !== undefined && position > 1) parts.push(before(position));
  } else {
    if (leases && ownHolds > 0) parts.unshift(`this process has ${ownHolds} of ${leases.limit} leases`);
    if (holder) parts.push(`the lock is held by ${holderText(holder)}`);
  }
  return `${parts.join('; ')}. ${holder && isUnowned(holder) ? 'Delete that znode if no program needs it' : 'Wait longer, or find the holder with participants()'}`;
}

/** The znode of a holder that no session owns. */
function isUnowned({ sessionId }: KnownHolder): boolean {
  return sessionId === '0x0';
}

function holderText(holder: KnownHolder): string {
  const { path, host, pid, sessionId, queuedSince } = holder;
  if (isUnowned(holder)) return `the znode ${path}, which no session owns, so it never goes by itself`;
  const who =
    host === undefined
      ? `session ${sessionId}`
      : `host ${host}${pid === undefined ? '' : `, pid ${pid}`} (session ${sessionId})`;
  return queuedSince === undefined ? who : `${who}, in the queue since ${queuedSince.toISOString()}`;
}

function since(holder: KnownHolder | undefined): string {
  return holder?.heldSince === undefined ? '' : ` since ${holder.heldSince.toISOString()}`;
}

function before(position: number, verb?: 'were'): string {
  if (position === 1) return `1 participant ${verb ? 'was' : 'is'} ahead in the queue`;
  return `${position} participants ${verb ?? 'are'} ahead in the queue`;
}

const timedOutTexts: Record<TimedOut, (path: string) => string> = {
  acquired: (path) => `The lock ${path} was not acquired`,
  released: (path) => `The lock ${path} was not released`,
  revoked: (path) => `The participant ${path} was not revoked`,
  participants: (path) => `The participants of ${path} were not read`,
  holder: (path) => `The holder of ${path} was not read`,
};
