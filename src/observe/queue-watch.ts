import { RequestFailedError } from '../internals/lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import { exists, getChildren } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { decodeClaim } from '../weighted/claim.js';
import { standardDriver } from '../driver/standard-driver.js';
import { weightedChild } from '../weighted/weighted-name.js';
import { readWeightedParticipant } from '../weighted/weighted-participants.js';
import { WeightedQueue } from '../weighted/weighted-queue.js';
import { placeIn, queueOf, readParticipant, type Participant } from '../internals/participants.js';
import type { Deadline } from '../internals/deadline.js';
import { plantWatch } from '../internals/plant-watch.js';
import { connectedSession } from '../internals/reconnected.js';

/** Looks at a lock's queue, and hears when there is a reason to look again: one watch, whatever happens meanwhile. */
export class QueueWatch {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #root: string;
  readonly #deadline: Deadline;
  /** Who was there at the last look: what a znode says is asked for once, of the holder at each look. */
  #known = new Map<string, Participant>();
  #session: Session | undefined;
  #stopListening: () => void = nothing;
  #hasNews = true;
  #wake: () => void = nothing;

  constructor(client: LockClient, path: string, deadline: Deadline) {
    this.#client = client;
    this.#path = path;
    this.#root = `${client.chroot}${path}`;
    this.#deadline = deadline;
  }

  /** Waits for news since the last look, and looks: the queue as it is then, in order. */
  async look(): Promise<Participant[]> {
    for (;;) {
      if (!this.#hasNews) {
        await this.#deadline.wait<undefined>((wake) => {
          this.#wake = () => wake(undefined);
          return () => (this.#wake = nothing);
        });
      }
      const session = await connectedSession(this.#client, this.#deadline);
      try {
        // Taken back first: what fires from here on is news.
        this.#hasNews = false;
        return await this.#read(session, await this.#namesOf(session));
      } catch (error) {
        if (!(error instanceof ZooKeeperError)) throw error;
        if (!error.isRetryable) throw new RequestFailedError(`The queue of ${this.#path} cannot be watched`, error);
        // The next connection watches again, but tells nothing of what happened before the last answer here.
        this.#hasNews = true;
      }
    }
  }

  close(): void {
    this.#leave();
    this.#wake = nothing;
  }

  async #namesOf(session: Session): Promise<string[]> {
    this.#follow(session);
    for (;;) {
      this.#deadline.check();
      session.watch(this.#root, this.#fired, 'children');
      try {
        return (await session.request(getChildren(this.#root, true))).value;
      } catch (error) {
        if (!isZooKeeperError(error, 'NO_NODE')) throw error;
        session.unwatch(this.#root, this.#fired, { forget: false }, 'children');
      }
      if (await this.#willBeCreated(session)) return [];
    }
  }

  /** What is not there has no children to watch: its creation is waited for. */
  async #willBeCreated(session: Session): Promise<boolean> {
    this.#deadline.check();
    session.watch(this.#root, this.#fired);
    try {
      await session.request(exists(this.#root, true));
      session.unwatch(this.#root, this.#fired, { forget: true });
      return false;
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) return true;
      throw error;
    }
  }

  /** A session that ends takes its watches along; the next one may be with a server that lags behind. */
  #follow(session: Session): void {
    if (this.#session === session) return;
    this.#leave();
    this.#session = session;
    this.#stopListening = session.onChange(() => session.isEnded && this.#fired());
    session.catchUp(this.#root);
  }

  #leave(): void {
    this.#stopListening();
    this.#stopListening = nothing;
    this.#session?.unwatch(this.#root, this.#fired, { forget: true }, 'children');
    this.#session?.unwatch(this.#root, this.#fired, { forget: true });
    this.#session = undefined;
  }

  async #read(session: Session, names: readonly string[]): Promise<Participant[]> {
    const queue = [...(await this.#weighted(session, names)), ...queueOf(names, standardDriver, 'known')];
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
    if (weightedChild(name)) return readWeightedParticipant(this.#client, session, this.#path, name);
    return readParticipant(this.#client, session, this.#path, name, placeIn(name, standardDriver));
  }

  /** Of a lock with weights, whose order changes with who holds it: that is in the data of its own znode. */
  async #weighted(session: Session, names: readonly string[]): Promise<string[]> {
    const children = names.map((name) => weightedChild(name)).filter((child) => child !== undefined);
    if (children.length === 0) return [];
    session.watch(this.#root, this.#fired);
    const root = await plantWatch(session, this.#root);
    if (root === 'gone') session.unwatch(this.#root, this.#fired, { forget: false });
    const claim = root === 'gone' ? 'none' : decodeClaim(root.data);
    return [...new WeightedQueue(children, typeof claim === 'string' ? undefined : claim).order.keys()];
  }

  readonly #fired = (): void => {
    this.#hasNews = true;
    this.#wake();
  };
}

function nothing(): void {
  // Nobody waits.
}
