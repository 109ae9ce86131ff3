import { createSequential, type AclEntry, type Operation, type Stat } from '../zookeeper/operations.js';
import { sessionName, type Session } from '../zookeeper/session.js';
import { TooLongError } from '../zookeeper/frames.js';
import type { Reader } from '../zookeeper/wire.js';

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

function readIn<T>(from: Reader, operation: Operation<T>): T | RangeError {
  try {
    return operation.read(from);
  } catch (error) {
    if (error instanceof RangeError && !(error instanceof TooLongError)) return error;
    throw error;
  }
}
