import { requireClient, requireOpen, type LockClient } from '../client/lock-client.js';
import { lockPath } from '../zookeeper/path.js';
import { expectOptions, expectSignal } from '../support/validate.js';
import type { Participant } from '../internals/participants.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import { QueueWatch } from './queue-watch.js';

/**
 * The queue of a lock as it is now, and again after every change, whoever makes it: of an {@link InterProcessMutex}, of
 * Java's Curator, of go-zookeeper and kazoo.
 * It asks nothing as long as nothing changes, by one watch on the lock's znode. While the loop's body runs, changes are
 * gathered: it gets the newest
 * queue, not all of them. It goes on across lost connections and sessions, and needs no lock to be there.
 *
 * What a waiter writes into its znode later on is shown when the queue changes and it has become the first.
 *
 * @returns ends when `signal` aborts or the client is closed, and leaves no watch behind
 * @throws InvalidPathError for a path that ZooKeeper does not take
 * @throws ClientClosedError when the client is closed before
 * @throws RequestFailedError from the loop when ZooKeeper refuses
 * @throws TypeError for a bad option
 * @example
 * for await (const { holder, waiters } of watchQueue(client, '/locks/orders/42', { signal })) {
 *   console.log(holder?.data.toString() ?? 'free', waiters.length);
 * }
 */
export function watchQueue(
  client: LockClient,
  path: string,
  options: WatchQueueOptions = {},
): AsyncGenerator<LockQueue, void, undefined> {
  requireClient(client);
  const checkedPath = lockPath(path);
  const { signal } = expectOptions('watchQueue', options, ['signal']);
  if (signal !== undefined) expectSignal('signal', signal);
  requireOpen(client, `the queue of ${checkedPath} cannot be watched`);
  return queues(client, checkedPath, signal);
}

/** Who holds a lock, and who waits for it. */
export interface LockQueue {
  /** The first; undefined when nobody is there. */
  readonly holder: Participant | undefined;
  /** The others, who is next first. */
  readonly waiters: readonly Participant[];
}

/** Options of {@link watchQueue}. */
export interface WatchQueueOptions {
  /** Ends the loop, as the end of the client does. */
  readonly signal?: AbortSignal | undefined;
}

async function* queues(
  client: LockClient,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<LockQueue, void, undefined> {
  const deadline = lockDeadline(client, path, { signal });
  // A signal that cannot be listened to would look like one that has aborted.
  if (!signal?.aborted && !client.isClosing) deadline.check();
  const watch = new QueueWatch(client, path, deadline);
  // Also while the body of the loop runs: it may take long.
  deadline.onEnd(() => watch.close());
  try {
    let last: string | undefined;
    while (!deadline.isExpired) {
      const participants = await watch.look();
      const shown = participants.map(({ path: znode, data }) => `${znode} ${data.toString('base64')}`).join('\n');
      if (shown === last) continue;
      last = shown;
      const [holder, ...waiters] = participants;
      yield { holder, waiters };
    }
  } catch (error) {
    if (!deadline.isExpired) throw error;
  } finally {
    watch.close();
    deadline.dispose();
  }
}
