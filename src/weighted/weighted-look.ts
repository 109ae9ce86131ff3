import { ForeignDataError } from './foreign-data-error.js';
import { ForeignNodeError } from '../internals/lock-errors.js';
import { getChildren, getData } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { decodeClaim } from './claim.js';
import { weightedChild } from './weighted-name.js';
import { WeightedQueue } from './weighted-queue.js';
import { OnceATick } from '../zookeeper/once-a-tick.js';

/**
 * A weighted lock as the servers have shown it once: first what its znode says, and then who is there. In this order: a
 * holder that is named first and not there
 * then has gone, because a name never comes back. The other way round it may have come in between.
 */
export class WeightedLook {
  readonly version: number;
  readonly mzxid: bigint;
  readonly zxid: bigint;
  readonly #data: Buffer;
  readonly #names: readonly string[];
  #queue: WeightedQueue | undefined;

  constructor({ data, version, mzxid, names, zxid }: Answers) {
    this.version = version;
    this.mzxid = mzxid;
    this.zxid = zxid;
    this.#data = data;
    this.#names = names;
  }

  /**
   * Sifted and sorted once for all who share it.
   *
   * @throws ForeignNodeError for a child of another kind of lock
   * @throws ForeignDataError where the znode does not say who holds the lock
   */
  queue(path: string): WeightedQueue {
    this.#queue ??= this.#read(path);
    return this.#queue;
  }

  /** Those of this kind, whatever else there is. */
  get shown(): WeightedQueue {
    const claim = decodeClaim(this.#data);
    const children = this.#names.map((name) => weightedChild(name)).filter((child) => child !== undefined);
    return new WeightedQueue(children, typeof claim === 'string' ? undefined : claim);
  }

  without(name: string): WeightedLook {
    const { version, mzxid, zxid } = this;
    return new WeightedLook({
      data: this.#data,
      version,
      mzxid,
      zxid,
      names: this.#names.filter((one) => one !== name),
    });
  }

  #read(path: string): WeightedQueue {
    const foreign = this.#names.filter((name) => weightedChild(name) === undefined);
    if (foreign.length > 0) throw new ForeignNodeError(path, foreign);
    const claim = decodeClaim(this.#data);
    // Whoever has erased a claim may have done so while the lock was held: only who is alone can know that nobody holds
    // it.
    const isErased = claim === 'none' && this.version > 0 && this.#names.length > 1;
    if (claim === 'foreign' || isErased) throw new ForeignDataError(path, this.#data);
    return this.shown;
  }
}

interface Answers {
  readonly data: Buffer;
  /** Of the lock's znode: how often it was written, and by which transaction the last time. */
  readonly version: number;
  readonly mzxid: bigint;
  readonly names: readonly string[];
  /** The server's newest transaction when it answered first. */
  readonly zxid: bigint;
}

/** Asks, once for all who ask in one tick. */
export function lookAtWeighted(session: Session, path: string): Promise<WeightedLook> {
  return session.companions.of(WeightedLooks).ask(path);
}

/** The looks that one session has asked for. */
class WeightedLooks extends OnceATick<WeightedLook> {
  constructor(session: Session) {
    super((path) => look(session, path));
  }
}

async function look(session: Session, path: string): Promise<WeightedLook> {
  const read = session.request(getData(path, false));
  const listed = session.request(getChildren(path));
  listed.catch(ignore);
  try {
    const {
      value: { data, stat },
      zxid,
    } = await read;
    return new WeightedLook({ data, version: stat.version, mzxid: stat.mzxid, names: (await listed).value, zxid });
  } catch (error) {
    // Without the lock's znode there is nobody, and our own has gone with it.
    if (isZooKeeperError(error, 'NO_NODE'))
      return new WeightedLook({ data: Buffer.alloc(0), version: 0, mzxid: 0n, names: [], zxid: session.lastZxid });
    throw error;
  }
}

function ignore(): void {
  // What failed here fails again where it is awaited.
}
