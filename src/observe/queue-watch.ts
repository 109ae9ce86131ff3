import { refused } from '../internals/refusal.js';
import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import { decodeClaim } from '../weighted/claim.js';
import { standardDriver } from '../driver/standard-driver.js';
import { lightest, weightedChild } from '../weighted/weighted-name.js';
import { WeightedQueue } from '../weighted/weighted-queue.js';
import { Listing } from '../internals/listing.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { readParticipant, type Participant } from '../internals/participants.js';
import { WeightedKind } from '../weighted/weighted-kind.js';
import type { Deadline } from '../support/deadline.js';

/** Reads a lock's queue, and learns when to read it again. It keeps one watch, whatever happens meanwhile. */
export class QueueWatch {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #deadline: Deadline;
  readonly #ordered: OrderedQueue;
  readonly #weightedKind: WeightedKind;
  /** The participants of the last look. The data of a znode are read once; those of the holder at each look. */
  #known = new Map<string, Participant>();
  #session: Session | undefined;
  #stopListening: () => void = nothing;
  #hasChanged = true;
  #wake: () => void = nothing;

  constructor(client: LockClient, path: string, deadline: Deadline) {
    this.#client = client;
    this.#path = path;
    this.#deadline = deadline;
    this.#ordered = new OrderedQueue(standardDriver, { path, foreignNodes: 'wait' });
    this.#weightedKind = new WeightedKind(lightest, 1, path);
  }

  /** Waits for a change since the last look. Resolves with the queue at that time, in order. */
  async look(): Promise<Participant[]> {
    if (!this.#hasChanged) {
      await this.#deadline.wait<undefined>((wake) => {
        this.#wake = () => wake(undefined);
        return () => (this.#wake = nothing);
      });
    }
    // Asked again if an answer was lost: the next connection sets the watch again, but reports nothing that happened
    // before the last answer.
    const question = async (session: Session): Promise<Participant[]> => {
      // Reset first: an event from here on is a new change.
      this.#hasChanged = false;
      return this.#read(session, await this.#namesOf(session));
    };
    return this.#client
      .ask(question, this.#deadline)
      .catch(refused(this.#client, `The queue of ${this.#path} cannot be watched`));
  }

  close(): void {
    this.#leave();
    this.#wake = nothing;
  }

  async #namesOf(session: Session): Promise<string[]> {
    this.#follow(session);
    for (;;) {
      this.#deadline.check();
      const names = await session.watch(this.#path, 'children', this.#fired);
      if (names) return names;
      this.#deadline.check();
      // A znode that does not exist has no children to watch, so its creation is awaited.
      if ((await session.watch(this.#path, 'creation', this.#fired)) === undefined) return [];
    }
  }

  /**
   * Follows the client's session. The watches of a session end with it; the next session may be with a server that lags
   * behind.
   */
  #follow(session: Session): void {
    if (this.#session === session) return;
    this.#leave();
    this.#session = session;
    this.#stopListening = session.onChange(() => session.isEnded && this.#fired());
    session.catchUp(this.#path);
  }

  #leave(): void {
    this.#stopListening();
    this.#stopListening = nothing;
    this.#session?.unwatch(this.#path, 'children', this.#fired, { forget: true });
    this.#session?.unwatch(this.#path, 'data', this.#fired, { forget: true });
    this.#session = undefined;
  }

  async #read(session: Session, names: readonly string[]): Promise<Participant[]> {
    const queue = [
      ...(await this.#weighted(session, names)),
      ...this.#ordered.viewOf(new Listing(names, session.lastZxid)).order,
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
    const kind = weightedChild(name) ? this.#weightedKind : this.#ordered;
    return readParticipant(this.#client, session, this.#path, name, kind.describe(name));
  }

  /**
   * The participants of a lock with weights. Their order depends on the holder, and the lock's znode names it in its
   * data.
   */
  async #weighted(session: Session, names: readonly string[]): Promise<string[]> {
    const children = names.map((name) => weightedChild(name)).filter((child) => child !== undefined);
    if (children.length === 0) return [];
    const root = await session.watch(this.#path, 'data', this.#fired);
    const claim = root === undefined ? 'none' : decodeClaim(root.data);
    return [...new WeightedQueue(children, typeof claim === 'string' ? undefined : claim).order.keys()];
  }

  readonly #fired = (): void => {
    this.#hasChanged = true;
    this.#wake();
  };
}

function nothing(): void {
  // Nothing waits.
}
