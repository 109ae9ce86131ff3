import type { LockBoard } from '../board/lock-board.js';
import type { LockHost } from '../client/lock-host.js';
import { refused } from '../internals/refusal.js';
import { ask } from '../mutex/ask.js';
import { exists } from '../zookeeper/operations.js';
import { UsageError } from './usage-error.js';

/**
 * The znode of the participant that an operator means: the holder of the lock at `path`, else `path` itself if a session
 * owns it. Undefined if no participant holds it.
 *
 * @throws UsageError if several participants hold it
 * @throws RequestFailedError if the servers do not show the participants
 */
export async function holderOf(host: LockHost, board: LockBoard, path: string): Promise<string | undefined> {
  const [hidden] = board.unreadable.values();
  if (hidden) refused(host.options, `The holder of ${path} cannot be read`)(hidden.error);
  const holders = board.locks.get(path)?.holders.map((holder) => holder.path) ?? [];
  if (holders.length > 1)
    throw new UsageError(
      `${holders.length} participants hold ${path}: give the path of one of them\n${holders.join('\n')}`,
    );
  return holders[0] ?? ((await isOwned(host, path)) ? path : undefined);
}

/** True if a session owns the znode. */
export function isOwned(host: LockHost, path: string): Promise<boolean> {
  return ask(host, { call: 'holder', what: 'holder', path }, undefined, (deadline) =>
    host.sessions.ask(async (session) => {
      const stat = await session.find(exists(path));
      return stat !== undefined && stat.ephemeralOwner !== 0n;
    }, deadline),
  );
}
