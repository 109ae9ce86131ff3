import type { LockHost } from '../client/lock-host.js';
import { standardDriver } from '../driver/standard-driver.js';
import type { Grant } from '../internals/grant.js';
import { LockInternals } from '../internals/lock-internals.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { readParticipants, type Participant } from '../internals/participants.js';
import { requestFailed, znodeDeleted } from '../client/report/refusal.js';
import { Retries } from '../internals/retries.js';
import { Steps } from '../internals/steps.js';
import { DefaultData } from '../internals/znode/znode-data.js';
import type { QueuedListener } from '../internals/znode-queue.js';
import type { Deadline } from '../support/deadline.js';
import { inNoContext } from '../support/no-context.js';
import type { Session } from '../zookeeper/session/session.js';
import { ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { LeaseDriver } from './lease-driver.js';
import { LeaseLimit, type Limit } from './lease-limit.js';
import { LeaseTurn, type Call, type Taken } from './lease-turn.js';
import { countFreeLeases, foldersOf, refuseOtherLocks, type SemaphoreFolders } from './semaphore-folders.js';

/**
 * The wait for leases, in Curator's V2 layout. A call first acquires the mutex at `<path>/locks`: that is its turn.
 * During its turn it alone creates znodes below `<path>/leases`, and waits until they are among the first. All leases
 * of one call are taken in one turn, because two calls that each have half of their leases would wait for each other
 * forever, as they do in Curator.
 */
export class LeaseInternals {
  readonly #host: LockHost;
  readonly folders: SemaphoreFolders;
  readonly limit: LeaseLimit;
  readonly #turns: LockInternals;
  readonly #listener: QueuedListener;
  readonly #defaultData = (): Uint8Array => DefaultData.of(this.#host);
  #lastTry: Promise<unknown> = Promise.resolve();
  /** The queue of the leases, for a reader of it: it does not say who holds a lease. */
  readonly kind: OrderedQueue;

  /** @param listener gets the place of a call, where 1 is next */
  constructor(host: LockHost, path: string, limit: Limit, listener: QueuedListener) {
    this.#host = host;
    this.folders = foldersOf(path);
    this.limit = new LeaseLimit(host.options, limit);
    this.#listener = listener;
    this.kind = this.#queueBy(() => 0);
    const { locks } = this.folders;
    this.#turns = new LockInternals({
      host,
      path: locks,
      kind: new OrderedQueue(standardDriver, { path: locks, foreignNodes: 'reject' }),
      data: this.#defaultData,
      listener: placedIn(listener, (position) => position + 1),
    });
  }

  /**
   * Resolves with `quantity` grants; with undefined if the deadline does not allow waiting and there are too few free
   * leases. Settles as soon as the deadline expires.
   */
  acquire(quantity: number, deadline: Deadline, data?: Uint8Array): Promise<readonly Grant[] | undefined> {
    const call: Call = { quantity, deadline, data };
    return deadline.limit(
      () => (deadline.mayWait ? this.#run(call) : this.#afterOtherTries(() => this.#tryOnce(call))),
      (grants) => grants?.forEach((grant) => void grant.release()),
    );
  }

  /**
   * Returns the participants that have a lease, the oldest lease first. The limit is read for this question alone; an
   * acquire that waits uses the limit that it read itself.
   */
  async holders(deadline: Deadline): Promise<Participant[]> {
    const { count, fixed } = this.limit;
    for (;;) {
      // Not the last number of an acquire: the text of a timeout must not claim it.
      const limit = count ? await this.#host.sessions.ask((session) => count.read(session, deadline), deadline) : fixed;
      // The session ended before the answer.
      if (limit === undefined) continue;
      const all = await readParticipants(this.#host, this.folders.leases, this.kind, deadline);
      return all.slice(0, Math.max(0, limit));
    }
  }

  /**
   * Runs single tries one after another: two tries at the same time would find each other's znode at `locks`, and one
   * of them would get nothing although leases are free.
   */
  #afterOtherTries<T>(attempt: () => Promise<T>): Promise<T> {
    const tried = inNoContext(() => this.#lastTry.then(attempt));
    this.#lastTry = tried.catch(ignore);
    return tried;
  }

  /**
   * Looks before it writes. If leases are free it also acquires the turn, because participants that wait at `locks`
   * asked before. If another process takes its turn at the same time, one of the two gets nothing.
   */
  async #tryOnce(call: Call): Promise<readonly Grant[] | undefined> {
    const { quantity, deadline, data } = call;
    deadline.check();
    const session = this.#host.sessions.current;
    if (!session.isConnected) return undefined;
    refuseOtherLocks(this.folders, session, deadline);
    const limit = await this.limit.read(session, deadline);
    if (limit === undefined) return undefined;
    const free = await this.#countFree(session, limit);
    if (free === undefined) return undefined;
    if (free < quantity) {
      deadline.progress = 'behind-others';
      return undefined;
    }
    deadline.check();
    const turn = await this.#turns.steps.join(this.#turns.steps.newAttempt(session, deadline), { data });
    if (turn.is !== 'granted') return undefined;
    const taken = await this.#take(turn.grant, call);
    return taken.is === 'granted' ? taken.grants : undefined;
  }

  /** Returns undefined if no server answered. */
  async #countFree(session: Session, limit: number): Promise<number | undefined> {
    try {
      return await countFreeLeases(session, this.folders, limit);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      if (error.isRetryable) return undefined;
      throw requestFailed(this.#host.options, `The semaphore ${this.folders.path} cannot be acquired`, error);
    }
  }

  async #run(call: Call): Promise<readonly Grant[]> {
    const { deadline, data } = call;
    const retries = new Retries(this.#host);
    for (;;) {
      refuseOtherLocks(this.folders, this.#host.sessions.current, deadline);
      const turn = await this.#turns.acquire(deadline, { data });
      if (turn === undefined) continue;
      const taken = await this.#take(turn, call);
      if (taken.is === 'granted') return taken.grants;
      if (taken.is === 'absent') await retries.pause(deadline, znodeDeleted(this.folders.leases));
    }
  }

  #take(grant: Grant, call: Call): Promise<Taken> {
    const semaphore = { host: this.#host, folders: this.folders, limit: this.limit };
    return new LeaseTurn(semaphore, grant, call, (limit) => this.#leasesBy(limit)).take();
  }

  /** The leases as one call sees them: it has one by its own limit, whatever another call has read since. */
  #leasesBy(limitOfCall: () => number): Steps {
    return new Steps({
      host: this.#host,
      path: this.folders.leases,
      kind: this.#queueBy(limitOfCall),
      data: this.#defaultData,
      hasMarkedUuid: true,
      listener: placedIn(this.#listener, () => 1),
    });
  }

  #queueBy(limit: () => number): OrderedQueue {
    const lock = { path: this.folders.leases, foreignNodes: 'reject', watchesChildren: true } as const;
    return new OrderedQueue(new LeaseDriver(limit), lock);
  }
}

/**
 * Corrects the places. The call that has the turn waits at `leases` and is next; the calls that queue up at `locks`
 * come after it.
 */
function placedIn(listener: QueuedListener, placeOf: (position: number) => number): QueuedListener {
  return {
    get wantsPosition() {
      return listener.wantsPosition;
    },
    queued: (position, path, deadline) =>
      listener.queued(position === undefined ? undefined : placeOf(position), path, deadline),
  };
}

function ignore(): void {
  // The call of that try rejects with it.
}
