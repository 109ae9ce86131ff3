import { LockTimeoutError } from '../internals/lock-errors.js';
import { requireClient, requireOpen, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/path.js';
import type { Mark } from '../internals/mark.js';
import { MarkedNode } from './marked-node.js';
import type { Deadline, DeadlineOptions } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import { checkWaitOptions } from '../mutex/acquire-options.js';
import { ask, type AskOptions } from '../mutex/ask.js';

/** Options of {@link forceRelease}. */
export interface ForceReleaseOptions {
  /**
   * How long the participant has to let go, in milliseconds, connecting and marking included; then its znode is
   * deleted. With 0 it is deleted right
   * behind the mark: the loser may hear of it after the next grant.
   * @default 5000
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait; the call rejects with its reason, and the znode is left to its owner. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks a participant to let go, as Java's Revoker does: its znode's data becomes `__REVOKE__`. A holder that has called
 * `makeRevocable`, here or
 * in Java, is told; nobody has to obey, and others never hear of it. A waiter here is told when it is granted.
 *
 * Resolves when the request is written, or the participant was found to have let go meanwhile.
 *
 * @param participantPath the znode of a holder or a waiter, as `participants()` and `hold.path` give it
 * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout; the request
 * may have arrived
 * @throws the reason of `signal` when that aborts first
 * @throws RequestFailedError when it is not there, or ZooKeeper refuses
 * @throws InvalidPathError for a path that ZooKeeper does not take, and for a znode that no session owns
 * @throws ClientClosedError when the client is closed, before or meanwhile
 * @throws TypeError or RangeError for a bad option
 * @example
 * const [holder] = await mutex.participants();
 * if (holder) await revoke(client, holder.path);
 */
export async function revoke(client: LockClient, participantPath: string, options?: AskOptions): Promise<void> {
  const node = markedNode(client, participantPath, 'revoke');
  await ask(client, { call: 'revoke', what: 'revoked', path: participantPath }, options, (deadline) =>
    node.mark(deadline),
  );
}

/**
 * Takes the lock from a participant. Its znode is marked first: a holder of this library that runs finds its hold lost,
 * with reason `forced`, and its
 * signal aborted, while the znode still keeps everybody else out. When it has let go, or `timeoutMs` is over, the znode
 * is deleted, and the next one is
 * granted. A waiter of this library goes to the back of the queue.
 *
 * Holders that do not run, and Java's, are not told: what the lock protects should check fencing tokens.
 *
 * @param participantPath the znode of a holder or a waiter, as `participants()` and `hold.path` give it
 * @returns `released` when the participant let go by itself, `deleted` when it did not
 * @throws LockTimeoutError when no server answers in time, whether the request has arrived or not; a session's timeout
 * more is waited for the answer to
 *   the delete
 * @throws RequestFailedError when it is not there, or ZooKeeper refuses
 * @throws InvalidPathError for a path that ZooKeeper does not take, and for a znode that no session owns
 * @throws the reason of `signal` when that aborts first
 * @throws ClientClosedError when the client is closed, before or meanwhile
 * @throws TypeError or RangeError for a bad option
 * @example
 * const [holder] = await mutex.participants();
 * if (holder) await forceRelease(client, holder.path, { timeoutMs: 10_000 });
 */
export async function forceRelease(
  client: LockClient,
  participantPath: string,
  options: ForceReleaseOptions = {},
): Promise<'released' | 'deleted'> {
  const node = markedNode(client, participantPath, 'force');
  const { timeoutMs = defaultTimeoutMs, signal } = checkWaitOptions('forceRelease', options);
  const answerMs = client.sessionTimeoutMs;
  const isReleased = await within(
    client,
    participantPath,
    { timeoutMs: timeoutMs || answerMs, signal },
    async (deadline) => {
      await node.mark(deadline);
      return timeoutMs > 0 && (await node.untilGone(deadline).then(() => true, unlessLate));
    },
  );
  if (isReleased) return 'released';
  await within(client, participantPath, { timeoutMs: answerMs, signal }, (deadline) => node.delete(deadline));
  return 'deleted';
}

const defaultTimeoutMs = 5_000;

function markedNode(client: unknown, path: unknown, mark: Mark): MarkedNode {
  requireClient(client);
  const valid = lockPath(path);
  requireOpen(client, `${valid} cannot be ${mark === 'revoke' ? 'revoked' : 'released by force'}`);
  return new MarkedNode(client, valid, mark);
}

async function within<T>(
  client: LockClient,
  path: string,
  options: DeadlineOptions,
  job: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const deadline = lockDeadline(client, path, { ...options, what: 'released' });
  try {
    return await job(deadline);
  } finally {
    deadline.dispose();
  }
}

function unlessLate(error: unknown): false {
  if (error instanceof LockTimeoutError) return false;
  throw error;
}
