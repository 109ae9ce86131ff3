import type { LockBoard } from '../board/lock-board.js';
import { participantName } from '../board/participant-name.js';
import type { LockHost } from '../../../../src/client/lock-host.js';
import { refused } from '../../../../src/client/report/refusal.js';
import { ask } from '../../../../src/mutex/ask.js';
import { exists } from '../../../../src/zookeeper/wire/operations.js';
import { UsageError } from './usage-error.js';

/** The znode of a participant that an operator means. */
export interface Meant {
  readonly path: string;
  /** False if no session owns it, so that nobody can release it. */
  readonly isOwned: boolean;
}

/**
 * The holder of the lock at `path`, else `path` itself if it is a participant's. Undefined if no participant holds it.
 *
 * @throws UsageError if several participants hold it
 * @throws RequestFailedError if the servers do not show the participants
 */
export async function holderOf(host: LockHost, board: LockBoard, path: string): Promise<Meant | undefined> {
  const [hidden] = board.unreadable.values();
  if (hidden) refused(host.options, `The holder of ${path} cannot be read`)(hidden.error);
  const holders = board.locks.get(path)?.holders ?? [];
  if (holders.length > 1)
    throw new UsageError(
      `${holders.length} participants hold ${path}: give the path of one of them\n${holders.map((holder) => holder.path).join('\n')}`,
    );
  const [holder] = holders;
  if (holder) return { path: holder.path, isOwned: holder.content?.sessionId !== undefined };
  const owner = await ownerOf(host, path);
  if (owner === undefined) return undefined;
  // Only the znode of a participant stands in a queue. A lock's own znode has no owner.
  const isParticipant = owner !== 0n || (participantName(nameIn(path)) !== undefined && !board.hasChildren(path));
  return isParticipant ? { path, isOwned: owner !== 0n } : undefined;
}

/** The id of the session that owns the znode; 0 if it has no owner, and undefined if it does not exist. */
export function ownerOf(host: LockHost, path: string): Promise<bigint | undefined> {
  return ask(host, { call: 'holder', what: 'holder', path }, undefined, (deadline) =>
    host.sessions.ask(async (session) => (await session.find(exists(path)))?.ephemeralOwner, deadline),
  );
}

function nameIn(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
