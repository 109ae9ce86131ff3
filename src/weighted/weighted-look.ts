import { ForeignDataError } from './foreign-data-error.js';
import { ForeignNodeError } from '../internals/lock-errors.js';
import { getChildren, getData } from '../zookeeper/wire/operations.js';
import type { Session } from '../zookeeper/session/session.js';
import { isZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { decodeClaim } from './claim.js';
import { weightedChild } from './weighted-name.js';
import { WeightedQueue } from './weighted-queue.js';
import { OnceATick } from '../internals/listing.js';

/**
 * A weighted lock as the servers showed it once: first the data of its znode, then its children. In this order, a
 * holder that is named in the data but is not among the children has gone, because a name never comes back. In the
 * other order, that holder may have come between the two answers.
 */
export class WeightedLook {
  readonly answers: Answers;
  #queue: WeightedQueue | undefined;

  constructor(answers: Answers) {
    this.answers = answers;
  }

  /**
   * The queue, filtered and sorted once for all waiters that share this look.
   *
   * @throws ForeignNodeError for a child of another kind of lock
   * @throws ForeignDataError if the data of the znode do not show who holds the lock
   */
  queue(path: string): WeightedQueue {
    this.#queue ??= this.#read(path);
    return this.#queue;
  }

  /** The queue of the children of this kind, other children left out. */
  get shown(): WeightedQueue {
    const { data, names } = this.answers;
    const claim = decodeClaim(data);
    const children = names.map((name) => weightedChild(name)).filter((child) => child !== undefined);
    return new WeightedQueue(children, typeof claim === 'string' ? undefined : claim);
  }

  without(name: string): WeightedLook {
    return new WeightedLook({ ...this.answers, names: this.answers.names.filter((one) => one !== name) });
  }

  #read(path: string): WeightedQueue {
    const { data, names } = this.answers;
    const foreign = names.filter((name) => weightedChild(name) === undefined);
    if (foreign.length > 0) throw new ForeignNodeError(path, foreign);
    if (decodeClaim(data) === 'foreign') throw new ForeignDataError(path, data);
    // A participant that is alone knows that the lock is free.
    this.refuseErased(path, { most: 1 });
    return this.shown;
  }

  /**
   * If the data were erased, any participant may be the holder.
   *
   * @throws ForeignDataError if the data were erased, and there are more than `most` participants
   */
  refuseErased(path: string, { most }: { readonly most: number }): void {
    const { data, names, version } = this.answers;
    if (data.length === 0 && version > 0 && names.length > most) throw new ForeignDataError(path, data);
  }
}

interface Answers {
  readonly data: Buffer;
  /** The version of the lock's znode, and the transaction that wrote it last. */
  readonly version: number;
  readonly mzxid: bigint;
  readonly names: readonly string[];
  /** The server's newest transaction at its first answer. */
  readonly zxid: bigint;
}

/** Reads the lock, once for all callers of one tick. */
export function lookAtWeighted(session: Session, path: string): Promise<WeightedLook> {
  return session.companions.of(WeightedLooks).ask(path);
}

/** The looks that one session has requested. */
class WeightedLooks extends OnceATick<WeightedLook> {
  constructor(session: Session) {
    super((path) => look(session, path));
  }
}

async function look(session: Session, path: string): Promise<WeightedLook> {
  const read = session.request(getData(path, false));
  const listed = session.request(getChildren(path));
  listed.catch(() => {}); // It is awaited below, and fails there.
  try {
    const {
      value: { data, stat },
      zxid,
      wasPostponed,
    } = await read;
    // An overloaded server that put the data off has answered the list first.
    const { value: names } = await (wasPostponed ? session.request(getChildren(path)) : listed);
    return new WeightedLook({ data, version: stat.version, mzxid: stat.mzxid, names, zxid });
  } catch (error) {
    // Without the lock's znode there are no participants, and our own znode is gone too.
    if (isZooKeeperError(error, 'NO_NODE'))
      return new WeightedLook({
        data: Buffer.alloc(0),
        version: 0,
        mzxid: 0n,
        names: [],
        zxid: session.connection.lastZxid,
      });
    throw error;
  }
}
