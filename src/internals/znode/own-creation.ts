import { findProtected } from '../../driver/names.js';
import { TooLongError } from '../../zookeeper/wire/frames.js';
import {
  createSequential,
  exists,
  getChildren,
  type AclEntry,
  type Operation,
  type Stat,
} from '../../zookeeper/wire/operations.js';
import { checkServers } from '../../zookeeper/wire/transaction.js';
import { join } from '../../zookeeper/wire/path.js';
import type { Session } from '../../zookeeper/session/session.js';
import { sessionName } from '../../zookeeper/wire/wire-session.js';
import type { Reader } from '../../zookeeper/wire/wire.js';

/** Creates an ephemeral-sequential znode. An answer that does not fit is the value, and not an end of the connection. */
export function ownCreation(
  session: Session,
  path: string,
  data: Uint8Array,
  acl: readonly AclEntry[],
): Operation<OwnCreation> {
  const creation = createSequential(path, data, acl);
  // Counted while the answer is read, because further answers may have been read before the promise resolves.
  return {
    ...creation,
    read: (from) => ({ created: readIn(from, creation), writes: session.writesAnswered }),
  };
}

interface Created {
  readonly path: string;
  readonly stat: Stat;
}

/** The answer to a create. */
export interface OwnCreation {
  readonly created: Created | RangeError;
  /** The number of the session's writes that had been answered by then. */
  readonly writes: number;
}

/** The znode of this session that was asked for; or the reason why the answer is not about it. */
export function fitting({ created }: OwnCreation, zxid: bigint, session: Session): Created | string {
  if (created instanceof RangeError) return created.message;
  const { czxid, ephemeralOwner } = created.stat;
  if (ephemeralOwner !== session.id) return `its owner is ${sessionName(ephemeralOwner)}`;
  return czxid > zxid ? `it is from transaction ${czxid}, and the answer is from ${zxid}` : created;
}

/** The answer to a create does not fit the request. What was created has to be searched for, and is never held. */
export class MisfitError extends Error {}

/**
 * Finds the znode under `parent` whose name carries `uuid`, after the answer to its create was lost. Only a list that
 * is read behind an answered quorum write proves that the znode does not exist, because a session that moved to another
 * server may be shown an older tree.
 */
export async function findCreated(session: Session, parent: string, uuid: string): Promise<Found> {
  const written = session.request(checkServers());
  const listed = session.find(getChildren(parent));
  listed.catch(() => {}); // It is awaited below, and fails there.
  const { wasPostponed } = await written;
  const names = (wasPostponed ? await session.find(getChildren(parent)) : await listed) ?? [];
  const name = findProtected(names, uuid);
  if (name === undefined) return { names, created: undefined };
  const path = join(parent, name);
  const stat = await session.find(exists(path));
  return { names, created: stat && { path, stat } };
}

interface Found {
  /** The names of all children. */
  readonly names: readonly string[];
  readonly created: { readonly path: string; readonly stat: Stat } | undefined;
}

function readIn<T>(from: Reader, operation: Operation<T>): T | RangeError {
  try {
    return operation.read(from);
  } catch (error) {
    if (error instanceof RangeError && !(error instanceof TooLongError)) return error;
    throw error;
  }
}
