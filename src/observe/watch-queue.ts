import { hostOf, type LockClient } from '../client/lock-client.js';
import type { LockHost } from '../client/lock-host.js';
import { lockPath } from '../zookeeper/wire/path.js';
import { expectOptions, expectSignal } from '../support/validate.js';
import type { Participant } from '../internals/participants.js';
import { everyChange } from '../internals/change-watch.js';
import type { Deadline } from '../support/deadline.js';
import { QueueWatch } from './queue-watch.js';

/**
 * Yields the queue of a lock, and yields it again after every change by any client: of an {@link InterProcessMutex}, of
 * Java's Curator, and of go-zookeeper. Znodes of other names are left out, also those that a lock with `foreignNodes:
 * 'wait'` waits for: its `participants()` has them. It keeps one watch on the lock's znode. While nothing changes, it
 * only reads the queue again after each ten session timeouts: servers send no event to a client that has lost the right to read.
 * Changes that happen while the loop's body runs are combined: the loop gets the newest queue, not each one.
 * It goes on across lost connections and sessions, and the lock's znode need not exist.
 *
 * Data that a waiter writes into its znode later are shown when the queue changes and that waiter has become the first.
 *
 * @returns a generator that ends when `signal` aborts or the client is closed, and leaves no watch behind
 * @throws InvalidPathError for a path that ZooKeeper does not accept
 * @throws ClientClosedError when the client was closed before the call
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
  const host = hostOf(client);
  const checkedPath = lockPath(path);
  const { signal } = expectOptions('watchQueue', options, ['signal']);
  if (signal !== undefined) expectSignal('signal', signal);
  host.requireOpen(`the queue of ${checkedPath} cannot be watched`);
  return queues(host, checkedPath, signal);
}

/** The holder of a lock, and its waiters. */
export interface LockQueue {
  /** The first participant; undefined when there is none. */
  readonly holder: Participant | undefined;
  /** The other participants, the next one first. */
  readonly waiters: readonly Participant[];
}

/** Options of {@link watchQueue}. */
export interface WatchQueueOptions {
  /** Ends the loop. The loop also ends when the client is closed. */
  readonly signal?: AbortSignal | undefined;
}

async function* queues(
  host: LockHost,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<LockQueue, void, undefined> {
  const open = (deadline: Deadline): QueueWatch => new QueueWatch(host, path, deadline);
  for await (const [holder, ...waiters] of everyChange(host, path, signal, open, keyOf)) yield { holder, waiters };
}

function keyOf(participants: readonly Participant[]): string {
  return participants.map(({ path, data }) => `${path} ${data.toString('base64')}`).join('\n');
}
