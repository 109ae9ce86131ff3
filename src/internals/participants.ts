import { isUtf8 } from 'node:buffer';
import type { LockHost } from '../client/lock-host.js';
import { getData } from '../zookeeper/wire/operations.js';
import { join } from '../zookeeper/wire/path.js';
import type { Session } from '../zookeeper/session/session.js';
import { sessionName } from '../zookeeper/wire/wire-session.js';
import { hasMarkedUuid } from '../driver/names.js';
import { isMarkedIdle, type LockOwner, ownerIn, withoutMark } from './znode/znode-data.js';
import type { Deadline } from '../support/deadline.js';
import { showByJson } from '../support/shown.js';
import { refused } from '../client/report/refusal.js';
import type { ParticipantName, QueueKind } from './queue-view.js';

/** A participant of a lock's queue. The holder is the first, and the waiters follow. */
export interface Participant {
  /** The path of its znode, below the client's chroot. */
  readonly path: string;
  /** Its place in the order in which the server created the znodes; 0 if its name does not have the lock's form. */
  readonly sequence: number;
  /**
   * Its ZooKeeper session, written as in the servers' logs: `0x100000a2b3c0001`. `0x0`: no session owns the znode, so it
   * keeps its place until somebody deletes it.
   */
  readonly sessionId: string;
  /**
   * The data that it wrote into its znode: by default the host's address. `revoke` and `forceRelease` overwrite the data
   * with the mark `__REVOKE__` or `__FORCE__`.
   */
  readonly data: Buffer;
  /** Its process, if the participant wrote it with `data: 'owner'`. */
  readonly owner: LockOwner | undefined;
  /**
   * True if the participant keeps a sticky lock that no caller uses now, according to its znode. Another client that
   * asks for the lock gets it at once.
   */
  readonly isIdle: boolean;
  /** The time at which it joined the queue, by the clock of the server that led then. */
  readonly createdAt: Date;
  /** Its weight, in a lock with weights; else undefined. */
  readonly weight?: number;
}

/** The queue as it is now, in order. Empty if the lock has no participants. */
export function readParticipants(
  host: LockHost,
  path: string,
  kind: QueueKind,
  deadline: Deadline,
): Promise<Participant[]> {
  const question = async (session: Session): Promise<Participant[]> => {
    session.catchUp(path);
    const { order } = await kind.read(session);
    const read = order.map((name) => readParticipant(session, path, name, kind.describe(name)));
    // A participant that left between the list and this read is no longer in the queue.
    return (await Promise.all(read)).filter((participant) => participant !== undefined);
  };
  return host.sessions
    .ask(question, deadline)
    .catch(refused(host.options, `The participants of ${path} cannot be read`));
}

/**
 * The first of the participants that hold the lock; undefined if there is no holder. Every earlier write is seen,
 * through whichever server.
 */
export function readHolder(
  host: LockHost,
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
      const participant = await readParticipant(session, path, holder, kind.describe(holder));
      if (participant) return participant;
      // This holder has left since the list, so another participant of the queue may hold the lock now.
      view = view.without(holder);
    }
  };
  return host.sessions.ask(question, deadline).catch(refused(host.options, `The holder of ${path} cannot be read`));
}

/** Resolves with undefined if the participant has left. */
export async function readParticipant(
  session: Session,
  path: string,
  name: string,
  said: ParticipantName,
): Promise<Participant | undefined> {
  const znode = join(path, name);
  const read = await session.find(getData(znode, false));
  if (read === undefined) return undefined;
  const { stat } = read;
  // Without a marked uuid in the name, the same bytes are the participant's own data.
  const isIdle = hasMarkedUuid(name) && isMarkedIdle(read.data);
  const data = hasMarkedUuid(name) ? withoutMark(read.data) : read.data;
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

/** The same participant, with a `toJSON` by which `console.log` and `JSON.stringify` show its data as text. */
export function shownParticipant<T extends DatedData>(participant: T): T {
  return Object.assign(new ShownParticipant(), participant);
}

interface DatedData {
  readonly data: Buffer;
  readonly createdAt: Date;
}

class ShownParticipant {
  toJSON(this: DatedData): object {
    const { data, createdAt, ...others } = this;
    return {
      ...others,
      data: isUtf8(data) ? data.toString() : `0x${data.toString('hex')}`,
      // A server may send any number. `toISOString` of an invalid date would throw.
      createdAt: createdAt.toJSON(),
    };
  }

  static {
    showByJson(this, 'Participant');
  }
}
