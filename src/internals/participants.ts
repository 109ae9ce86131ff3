import { RequestFailedError } from '../client/errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getChildren, getData } from '../client/operations.js';
import { join } from '../client/path.js';
import { sessionName, type Session } from '../client/session.js';
import { whenNoNode, ZooKeeperError } from '../client/zookeeper-error.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { foreignNames, sequenceOf } from '../driver/names.js';
import { connectedSession } from './connected-session.js';
import { isMarkedIdle, withoutMark } from './idle-mark.js';
import type { Patience } from './patience.js';

/** Somebody in a lock's queue: the holder is the first, the waiters follow. */
export interface Participant {
  /** Its znode, below the client's chroot. */
  readonly path: string;
  /** The place in the order in which the server created the znodes. */
  readonly sequence: number;
  /** The ZooKeeper session behind it, as the servers' logs write it: `0x100000a2b3c0001`. */
  readonly sessionId: string;
  /** What it wrote into its znode: the host's address by default. */
  readonly data: Buffer;
  /** It keeps a sticky lock that nobody uses at the moment, as far as it has told: whoever asks is served at once. */
  readonly isIdle: boolean;
  /** When it queued up, by the clock of the server that led then. */
  readonly createdAt: Date;
}

/** The queue as it is now, in order; empty when nobody was ever there. */
export async function readParticipants(client: LockClient, path: string, driver: LockDriver, patience: Patience): Promise<Participant[]> {
  for (;;) {
    const session = await connectedSession(client, patience);
    try {
      return await read(session, client.chroot, path, driver);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      if (!error.isPassing) throw new RequestFailedError(`The participants of ${path} cannot be read`, error);
    }
  }
}

async function read(session: Session, chroot: string, path: string, driver: LockDriver): Promise<Participant[]> {
  const names = await session.request(getChildren(`${chroot}${path}`)).then(({ value }) => value, whenNoNode<string[]>([]));
  // Of several kinds of locks in one queue, only this one's: readers ask for the readers, as in Curator.
  const foreign = new Set(foreignNames(names, driver.lockName));
  const queue = driver.sort(names.filter((name) => !foreign.has(name)));
  const participants = await Promise.all(
    queue.map(async (name): Promise<Participant | undefined> => {
      const reply = await session.request(getData(join(`${chroot}${path}`, name), false)).catch(whenNoNode(undefined));
      return (
        reply && {
          path: join(path, name),
          sequence: sequenceOf(name, driver.lockName) ?? 0,
          sessionId: sessionName(reply.value.stat.ephemeralOwner),
          data: withoutMark(reply.value.data),
          isIdle: isMarkedIdle(reply.value.data),
          createdAt: new Date(reply.value.stat.createdAtMs),
        }
      );
    }),
  );
  // Who left between the list and the look is not there any more.
  return participants.filter((participant) => participant !== undefined);
}
