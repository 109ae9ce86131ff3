import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import { hostOf, type LockClient } from '../client/lock-client.js';
import type { LockHost } from '../client/lock-host.js';
import { lockPath } from '../zookeeper/wire/path.js';
import type { Mark } from '../internals/znode/znode-data.js';
import { MarkedNode } from './marked-node.js';
import type { Deadline, DeadlineOptions } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import { checkWaitOptions } from '../mutex/acquire-options.js';
import { ask, type AskOptions } from '../mutex/ask.js';

/** Options of {@link forceRelease}. */
export interface ForceReleaseOptions {
  /**
   * The time that the participant has to release, in milliseconds, connecting and marking included; afterwards its
   * znode is deleted. With 0 the znode is deleted right after the mark is written: the participant may learn of the
   * loss only after the next grant.
   * @default 5000
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait: the call rejects with the signal's reason, and the znode stays. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Asks a participant to release, as Java's Revoker does: the data of its znode become `__REVOKE__`. A holder that has
 * called `makeRevocable`, here or in Java, gets the request; it need not obey. Other holders do not notice the request.
 * A waiter of this library gets the request when it is granted the lock.
 *
 * Resolves when the request is written, or when the participant has released meanwhile.
 *
 * @param participantPath the znode of a holder or a waiter, as `participants()` and `hold.path` give it
 * @throws LockTimeoutError when no server has answered within `timeoutMs`, by default the session timeout; the request
 * may have arrived
 * @throws the reason of `signal` when that aborts first
 * @throws RequestFailedError when the znode does not exist, or ZooKeeper refuses
 * @throws InvalidPathError for a path that ZooKeeper does not accept, and for a znode that no session owns
 * @throws ClientClosedError when the client is closed before or during the call
 * @throws TypeError or RangeError for a bad option
 * @example
 * const [holder] = await mutex.participants();
 * if (holder) await revoke(client, holder.path);
 */
export async function revoke(client: LockClient, participantPath: string, options?: AskOptions): Promise<void> {
  await requestRelease(client, participantPath, options);
}

/** As `revoke`. Resolves with `gone` if the participant had released before. */
export function requestRelease(
  client: LockClient,
  participantPath: string,
  options?: AskOptions,
): Promise<'marked' | 'gone'> {
  const host = hostOf(client);
  const node = markedNode(host, participantPath, 'revoke');
  return ask(host, { call: 'revoke', what: 'revoked', path: participantPath }, options, (deadline) =>
    node.mark(deadline),
  );
}

/**
 * Takes the lock from a participant. First its znode is marked: a holder of this library whose process runs finds its
 * hold lost, with reason `forced`, and its signal aborted, while the znode still excludes all others. When the
 * participant has released, or after `timeoutMs`, the znode is deleted, and the next waiter is granted the lock. A
 * waiter of this library goes to the back of the queue.
 *
 * A holder whose process does not run, and a holder in Java, do not notice the loss: the resource that the lock
 * protects should check fencing tokens.
 *
 * @param participantPath the znode of a holder or a waiter, as `participants()` and `hold.path` give it
 * @returns `released` when the participant released by itself, or was gone before, `deleted` when it did not release
 * @throws LockTimeoutError when no server answers in time, whether the request has arrived or not; the answer to the
 * deletion is awaited for one session timeout more
 * @throws RequestFailedError when the znode does not exist, or ZooKeeper refuses
 * @throws InvalidPathError for a path that ZooKeeper does not accept, and for a znode that no session owns
 * @throws the reason of `signal` when that aborts first
 * @throws ClientClosedError when the client is closed before or during the call
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
  const host = hostOf(client);
  const node = markedNode(host, participantPath, 'force');
  const { timeoutMs = defaultTimeoutMs, signal } = checkWaitOptions('forceRelease', options);
  const answerMs = host.sessions.timeoutMs;
  const isReleased = await within(
    host,
    participantPath,
    { timeoutMs: timeoutMs || answerMs, signal },
    async (deadline) => {
      if ((await node.mark(deadline)) === 'gone') return true;
      return timeoutMs > 0 && (await node.untilGone(deadline).then(() => true, unlessLate));
    },
  );
  if (isReleased) return 'released';
  const end = await within(host, participantPath, { timeoutMs: answerMs, signal }, (deadline) => node.delete(deadline));
  return end === 'deleted' ? 'deleted' : 'released';
}

const defaultTimeoutMs = 5_000;

function markedNode(host: LockHost, path: unknown, mark: Mark): MarkedNode {
  const valid = lockPath(path);
  host.requireOpen(`${valid} cannot be ${mark === 'revoke' ? 'revoked' : 'released by force'}`);
  return new MarkedNode(host, valid, mark);
}

async function within<T>(
  host: LockHost,
  path: string,
  options: DeadlineOptions,
  job: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const deadline = lockDeadline(host, path, { ...options, what: 'released' });
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
