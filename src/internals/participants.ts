import type { LockClient } from '../client/lock-client.js';
import { getData } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import { sessionName, type Session } from '../zookeeper/session.js';
import { hasMarkedUuid } from '../driver/names.js';
import { isMarkedIdle, withoutMark } from './idle-mark.js';
import { ownerIn, type LockOwner } from './lock-owner.js';
import type { Deadline } from '../support/deadline.js';
import { refused } from './refusal.js';
import type { ParticipantName, QueueKind } from './queue-view.js';
import { shownData } from './shown-data.js';
import { shownParticipant } from './shown-participant.js';

/** Somebody in a lock's queue: the holder is the first, the waiters follow. */
export interface Participant {
  /** Its znode, below the client's chroot. */
  readonly path: string;
  /** The place in the order in which the server created the znodes. */
  readonly sequence: number;
  /** The ZooKeeper session behind it, as the servers' logs write it: `0x100000a2b3c0001`. */
  readonly sessionId: string;
  /**
   * What it wrote into its znode: the host's address by default. Where `revoke` or `forceRelease` has written over it,
   * and this client had not read it before,
   * `__REVOKE__` or `__FORCE__`.
   */
  readonly data: Buffer;
  /** Which process it is, where it has said so by `data: 'owner'`. */
  readonly owner: LockOwner | undefined;
  /** It keeps a sticky lock that nobody uses at the moment, as far as it has told: whoever asks is served at once. */
  readonly isIdle: boolean;
  /** When it queued up, by the clock of the server that led then. */
  readonly createdAt: Date;
  /** Its weight, in a lock with weights; else undefined. */
  readonly weight?: number;
}

/** The queue as it is now, in order; empty when nobody was ever there. */
export function readParticipants(
  client: LockClient,
  path: string,
  kind: QueueKind,
  deadline: Deadline,
): Promise<Participant[]> {
  const question = async (session: Session): Promise<Participant[]> => {
    session.catchUp(path);
    const { order } = await kind.read(session);
    const read = order.map((name) => readParticipant(client, session, path, name, kind.describe(name)));
    // A participant that left between the list and the look is not there any more.
    return (await Promise.all(read)).filter((participant) => participant !== undefined);
  };
  return client.ask(question, deadline).catch(refused(client, `The participants of ${path} cannot be read`));
}

/**
 * The first of those who hold the lock; undefined when nobody does. Nothing that was written before is missed, through
 * whichever server.
 */
export function readHolder(
  client: LockClient,
  path: string,
  kind: QueueKind,
  deadline: Deadline,
): Promise<Participant | undefined> {
  const question = async (session: Session): Promise<Participant | undefined> => {
    session.catchUp(path);
    let view = await kind.read(session);
    for (;;) {
      const { holder } = view;
      if (holder === undefined) return undefined;
      const participant = await readParticipant(client, session, path, holder, kind.describe(holder));
      if (participant) return participant;
      // It has left since: another one of the queue holds by now.
      view = view.without(holder);
    }
  };
  return client.ask(question, deadline).catch(refused(client, `The holder of ${path} cannot be read`));
}

/** Undefined when it has left. */
export async function readParticipant(
  client: LockClient,
  session: Session,
  path: string,
  name: string,
  said: ParticipantName,
): Promise<Participant | undefined> {
  const znode = join(path, name);
  const read = await session.find(getData(znode, false));
  if (read === undefined) return undefined;
  const { stat } = read;
  // Elsewhere the mark is what somebody has written.
  const isIdle = hasMarkedUuid(name) && isMarkedIdle(read.data);
  const shown = shownData(client, session, { path: znode, ...read });
  const data = hasMarkedUuid(name) ? withoutMark(shown) : shown;
  const sessionId = sessionName(stat.ephemeralOwner);
  return shownParticipant({
    path: znode,
    ...said,
    sessionId,
    data,
    owner: ownerIn(data, sessionId),
    isIdle,
    createdAt: new Date(stat.createdAtMs),
  });
}
