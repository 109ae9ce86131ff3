import { refused } from '../client/report/refusal.js';
import type { LockHost } from '../client/lock-host.js';
import type { Session } from '../zookeeper/session/session.js';
import { latchDriver, standardDriver } from '../driver/standard-driver.js';
import { sequenceOf } from '../driver/names.js';
import { Listing } from '../internals/listing.js';
import { ChangeWatch } from '../internals/change-watch.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { readParticipant, type Participant } from '../internals/participants.js';
import { wayOptions, type WayNames } from '../mutex/mutex-way.js';
import type { Deadline } from '../support/deadline.js';

/** Reads a lock's queue, and learns when to read it again. It keeps one watch, whatever happens meanwhile. */
export class QueueWatch {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #watch: ChangeWatch;
  /** The queues whose order the names show: of a mutex, and of an election. */
  readonly #ordered: readonly [OrderedQueue, OrderedQueue];
  /** The participants of the last look. The data of a znode are read once; those of the holder at each look. */
  #known = new Map<string, Participant>();

  constructor(host: LockHost, path: string, deadline: Deadline) {
    this.#host = host;
    this.#path = path;
    this.#watch = new ChangeWatch(host, path, deadline);
    this.#ordered = [
      new OrderedQueue(standardDriver, { path, foreignNodes: 'reject' }),
      new OrderedQueue(latchDriver, { path, foreignNodes: 'reject' }),
    ];
  }

  /** Waits for a change since the last look. Resolves with the queue at that time, in order. */
  look(): Promise<Participant[]> {
    return this.#watch
      .next(async (session) => this.#read(session, await this.#namesOf(session)))
      .catch(refused(this.#host.options, `The queue of ${this.#path} cannot be watched`));
  }

  close(): void {
    this.#watch.close();
  }

  async #namesOf(session: Session): Promise<string[]> {
    for (;;) {
      const names = await this.#watch.watch(session, this.#path, 'children');
      if (names) return names;
      // A znode that does not exist has no children to watch, so its creation is awaited.
      if ((await this.#watch.watch(session, this.#path, 'creation')) === undefined) return [];
    }
  }

  async #read(session: Session, names: readonly string[]): Promise<Participant[]> {
    const listing = new Listing(names, session.connection.lastZxid);
    const queue = [
      ...(await this.#namedByData(session, names)),
      ...this.#ordered.flatMap((ordered) => ordered.viewOf(listing).order),
    ];
    const read = await Promise.all(
      queue.map(async (name, index) => {
        const known = index === 0 ? undefined : this.#known.get(name);
        const participant = known ?? (await this.#participant(session, name));
        return participant && ([name, participant] as const);
      }),
    );
    this.#known = new Map(read.filter((entry) => entry !== undefined));
    return [...this.#known.values()];
  }

  #participant(session: Session, name: string): Promise<Participant | undefined> {
    const [ofMutex, ofElection] = this.#ordered;
    const ordered = sequenceOf(name, latchDriver.lockName) === undefined ? ofMutex : ofElection;
    const kind = waysOfData().find((way) => way.isOwn(name)) ?? ordered;
    return readParticipant(session, this.#path, name, kind.describe(name));
  }

  /** The participants whose order depends on the data of the lock's znode, as that of a lock with weights. */
  async #namedByData(session: Session, names: readonly string[]): Promise<string[]> {
    const queues = waysOfData()
      .map((way) => ({ way, own: names.filter((name) => way.isOwn(name)) }))
      .filter(({ own }) => own.length > 0);
    if (queues.length === 0) return [];
    const root = await this.#watch.watch(session, this.#path, 'data');
    return queues.flatMap(({ way, own }) => way.inOrder(own, root?.data));
  }
}

function waysOfData(): WayNames[] {
  return wayOptions().flatMap(({ names }) => names ?? []);
}
