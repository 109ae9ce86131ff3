import { RecentKeys } from '../client/report/recent-keys.js';
import { inNoContext } from '../support/no-context.js';
import { ForeignNodeError } from '../internals/lock-errors.js';
import { requestFailed, znodeDeleted } from '../internals/refusal.js';
import type { LockHost } from '../client/lock-host.js';
import { getChildren } from '../zookeeper/wire/operations.js';
import { join } from '../zookeeper/wire/path.js';
import type { Session } from '../zookeeper/session/session.js';
import { ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { LeaseDriver } from './lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';
import { countFreeLeases, type SemaphoreFolders } from './free-leases.js';
import type { Grant } from '../internals/grant.js';
import { DefaultData } from '../internals/znode/znode-data.js';
import { LockInternals } from '../internals/lock-internals.js';
import { Steps } from '../internals/steps.js';
import type { Outcome, Waiting } from '../internals/waiting.js';
import type { QueuedListener } from '../internals/znode-queue.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { seekPhantoms } from '../internals/phantoms.js';
import { readParticipants, type Participant } from '../internals/participants.js';
import type { Deadline } from '../support/deadline.js';
import { Retries } from '../internals/retries.js';
import { SharedCount } from './shared-count.js';
import { StandOff, type PartOfLeases } from './stand-off.js';
import { watchZnode } from '../zookeeper/session/watch-znode.js';
import { reached } from '../support/reached.js';

/**
 * The wait for leases, in Curator's V2 layout. A call first acquires the mutex at `<path>/locks`: that is its turn.
 * During its turn it alone creates znodes below `<path>/leases`, and waits until they are among the first. All leases
 * of one call are taken in one turn, because two calls that each have half of their leases would wait for each other
 * forever, as they do in Curator.
 */
export class LeaseInternals {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #limit: Limit;
  readonly #count: SharedCount | undefined;
  readonly #turns: LockInternals;
  readonly #listener: QueuedListener;
  readonly #folders: SemaphoreFolders;
  readonly #defaultData = (): Uint8Array => DefaultData.of(this.#host);
  #lastTry: Promise<unknown> = Promise.resolve();
  #lastLimit: number | undefined;
  /** The queue of the leases, for a reader of it: it does not say who holds a lease. */
  readonly kind: OrderedQueue;

  /** @param listener gets the place of a call, where 1 is next */
  constructor(host: LockHost, path: string, limit: Limit, listener: QueuedListener) {
    this.#host = host;
    this.#path = path;
    this.#limit = limit;
    this.#listener = listener;
    this.#lastLimit = limit.is === 'fixed' ? limit.maxLeases : undefined;
    this.#count = limit.is === 'shared' ? new SharedCount(host.options, limit.path) : undefined;
    this.#folders = { locks: join(path, locks), leases: this.leasesPath };
    const queue = new OrderedQueue(standardDriver, { path: join(path, locks), foreignNodes: 'reject' });
    this.kind = this.#queueBy(() => 0);
    this.#turns = new LockInternals(host, join(path, locks), {
      kind: queue,
      data: this.#defaultData,
      listener: placedIn(listener, (position) => position + 1),
    });
  }

  /** The limit when any call last read it, for texts; undefined before that. */
  get lastLimit(): number | undefined {
    return this.#lastLimit;
  }

  get leasesPath(): string {
    return join(this.#path, leases);
  }

  /**
   * Resolves with `quantity` grants; with undefined if the deadline does not allow waiting and there are too few free
   * leases. Settles as soon as the deadline expires.
   */
  acquire(quantity: number, deadline: Deadline, data?: Uint8Array): Promise<readonly Grant[] | undefined> {
    const call: Call = { quantity, deadline, data, limit: this.#fixedLimit ?? 0 };
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
    const count = this.#count;
    for (;;) {
      const limit = count
        ? await this.#host.sessions.ask((session) => count.read(session, deadline), deadline)
        : this.#fixedLimit;
      // The session ended before the answer.
      if (limit === undefined) continue;
      return (await readParticipants(this.#host, this.leasesPath, this.kind, deadline)).slice(0, Math.max(0, limit));
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
    this.#refuseForeignNodes(session, deadline);
    if ((await this.#readLimit(session, call)) === 'over') return undefined;
    const free = await this.#countFree(session, call);
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
  async #countFree(session: Session, { limit }: Call): Promise<number | undefined> {
    try {
      return await countFreeLeases(session, this.#folders, limit);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      if (error.isRetryable) return undefined;
      throw requestFailed(this.#host.options, `The semaphore ${this.#path} cannot be acquired`, error);
    }
  }

  async #run(call: Call): Promise<readonly Grant[]> {
    const { deadline, data } = call;
    const retries = new Retries(this.#host);
    for (;;) {
      this.#refuseForeignNodes(this.#host.sessions.current, deadline);
      const turn = await this.#turns.acquire(deadline, { data });
      if (turn === undefined) continue;
      const taken = await this.#take(turn, call);
      if (taken.is === 'granted') return taken.grants;
      if (taken.is === 'absent') await retries.pause(deadline, znodeDeleted(this.leasesPath));
    }
  }

  /**
   * Takes all the leases of the call, which has the turn. If one cannot be acquired, the leases are released before the
   * turn, so that the next call finds none of our znodes.
   */
  async #take(turn: Grant, call: Call): Promise<Taken> {
    const { quantity, deadline } = call;
    const session = this.#host.sessions.current;
    const grants: Grant[] = [];
    deadline.progress = 'asking';
    const wait: Wait = {
      call,
      turn,
      leases: this.#leasesFor(call),
      grants,
      deletions: [],
      standOff: new StandOff(this.#host.clock),
    };
    let taken: Taken = { is: 'absent' };
    const areHeld = (): boolean => [turn, ...grants].every((grant) => grant.isValid);
    try {
      // Checked again: a client that came to this path since then finds our znodes there.
      this.#refuseForeignNodes(session, deadline);
      while (areHeld() && grants.length < quantity) {
        if ((await this.#readLimit(session, call)) === 'over') break;
        const outcome = await this.#takeOne(session, wait);
        if (outcome.is === 'granted') grants.push(outcome.grant);
        else if (outcome.is === 'gives way') return (taken = { is: 'over' });
        else if (outcome.is === 'absent' || !deadline.mayWait) {
          reached('semaphore: a lease not granted in its turn');
          return taken;
        }
      }
      if (session.isEnded) taken = { is: 'over' };
      else if (grants.length === quantity && areHeld()) taken = { is: 'granted', grants };
      return taken;
    } finally {
      if (taken.is !== 'granted' && grants.length > 0) reached('semaphore: leases given back before the turn');
      if (taken.is === 'granted') {
        void turn.release();
      } else void inNoContext(() => Promise.all([giveBack(grants), ...wait.deletions]).then(() => turn.release()));
    }
  }

  async #takeOne(session: Session, wait: Wait): Promise<Outcome | GivesWay> {
    const { leases, call } = wait;
    const attempt = leases.newAttempt(session, call.deadline);
    let outcome: Outcome | GivesWay = { is: 'over' };
    try {
      let step = await leases.join(attempt, { data: call.data });
      while (step.is === 'waiting') {
        const next = await this.#untilChanged(session, step, wait);
        if (next === 'gives way') outcome = { is: next };
        if (next !== 'look') return outcome;
        step = await leases.look(attempt, step, 'recheck');
      }
      outcome = step;
      return outcome;
    } catch (error) {
      throw leases.failed(attempt, error);
    } finally {
      if (outcome.is !== 'granted') wait.deletions.push(leases.delete(attempt));
    }
  }

  /**
   * Waits for a reason to look again. Resolves with `over` when the turn is lost, because another process may have the
   * turn now and wait until the znodes of this call are deleted; also when a granted lease is lost, or when the call
   * gives way.
   */
  async #untilChanged(
    session: Session,
    { position = 0, children: sorted = [] }: Waiting,
    wait: Wait,
  ): Promise<'look' | 'over' | 'gives way'> {
    const { deadline, limit } = wait.call;
    const held = [wait.turn, ...wait.grants];
    this.#warnOfSurplus(position);
    const lookInMs = await this.#standOffIn({ session, sorted, index: position }, wait);
    if (lookInMs === 'gives way') return lookInMs;
    const reason = await deadline.wait<'look' | 'over'>((wake, fail) => {
      const look = (): void => wake('look');
      const stops = [
        session.onChange(() => session.isEnded && look()),
        ...held.map((grant) =>
          grant.onLost(() => {
            reached('semaphore: a part lost while the call waits for the next lease');
            wake('over');
          }),
        ),
        watchZnode(session, this.#folders.leases, 'children', {
          found: (names) => isSameSet(names, sorted) || look(),
          told: look,
          lost: look,
          failed: fail,
        }),
      ];
      const leases = sorted
        .slice(0, Math.min(position, mostLeasesAsked))
        .map((name) => join(this.#folders.leases, name));
      stops.push(seekPhantoms(session, this.#host, leases, look));
      if (lookInMs < Infinity) stops.push(this.#host.clock.after(lookInMs, look));
      if (this.#count) stops.push(this.#count.watch(session, limit, this.#host.clock, look));
      if (held.some((grant) => !grant.isValid)) wake('over');
      return () => stops.forEach((stop) => stop());
    });
    return reason === 'look' ? this.#readLimit(session, wait.call) : reason;
  }

  /** Only a call that already has some leases blocks another call by its wait. */
  #standOffIn(
    { session, sorted, index }: Pick<PartOfLeases, 'session' | 'sorted' | 'index'>,
    { call, turn, grants, standOff }: Wait,
  ): Promise<number | 'gives way'> {
    if (grants.length === 0) return Promise.resolve(Infinity);
    const part = {
      session,
      ...this.#folders,
      turn: turn.node.name,
      sorted,
      index,
      own: grants.map(({ node }) => node.name),
    };
    return call.deadline.limit(() => standOff.look(part), ignore);
  }

  /** The call that has the turn creates the only znode that may be more than the limit. */
  #warnOfSurplus(leasesBefore: number): void {
    const limit = this.#fixedLimit ?? Infinity;
    if (leasesBefore <= limit || !this.#host.companions.of(Surpluses).isNew(this.#path)) return;
    this.#host.report.warn(
      `The semaphore ${this.#path} has { maxLeases: ${limit} } in this client, but ${this.leasesPath} has ${leasesBefore} leases. ` +
        'Use the same maxLeases in all clients of this path. If it is the same, a process has died during an acquire, and its znode goes when its session ends',
      undefined,
    );
  }

  async #readLimit(session: Session, call: Call): Promise<'look' | 'over'> {
    if (this.#count === undefined) return 'look';
    const count = await this.#count.read(session, call.deadline);
    if (count === undefined) return 'over';
    call.limit = count;
    this.#lastLimit = count;
    return 'look';
  }

  get #fixedLimit(): number | undefined {
    return this.#limit.is === 'fixed' ? this.#limit.maxLeases : undefined;
  }

  /** The leases as one call sees them: it has one by its own limit, whatever another call has read since. */
  #leasesFor(call: Call): Steps {
    return new Steps(this.#host, this.leasesPath, {
      kind: this.#queueBy(() => call.limit),
      data: this.#defaultData,
      hasMarkedUuid: true,
      listener: placedIn(this.#listener, () => 1),
    });
  }

  #queueBy(limit: () => number): OrderedQueue {
    const lock = { path: this.leasesPath, foreignNodes: 'reject', watchesChildren: true } as const;
    return new OrderedQueue(new LeaseDriver(limit), lock);
  }

  /** Ends the call if the path has a lock of another kind, because the order between the two is unknown. */
  #refuseForeignNodes(session: Session, deadline: Deadline): void {
    session.find(getChildren(this.#path)).then((names = []) => {
      const foreign = names.filter((name) => name !== locks && name !== leases);
      if (foreign.length > 0) deadline.end(new ForeignNodeError(this.#path, foreign));
    }, ignore);
  }
}

/** The number of leases: given by the application, or by a znode that may change. */
export type Limit =
  { readonly is: 'fixed'; readonly maxLeases: number } | { readonly is: 'shared'; readonly path: string };

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

type Taken =
  | { readonly is: 'granted'; readonly grants: readonly Grant[] }
  /** One of the call's znodes was deleted: the retry policy decides. */
  | { readonly is: 'absent' }
  /** The session has ended, or the call gives way: it queues up again. */
  | { readonly is: 'over' };

/** One acquire. */
interface Call {
  readonly quantity: number;
  readonly deadline: Deadline;
  readonly data: Uint8Array | undefined;
  /**
   * The limit when this call last read it. Its wait ends when the shared count differs from this number. A number that
   * another call read would hide a change that this call has not seen.
   */
  limit: number;
}

/** The wait for the leases of one call, in one turn. */
interface Wait {
  readonly call: Call;
  readonly turn: Grant;
  readonly leases: Steps;
  /** The leases that were granted so far. */
  readonly grants: readonly Grant[];
  /** The deletions of the znodes that were not granted. */
  readonly deletions: Promise<void>[];
  readonly standOff: StandOff;
}

/** The semaphores of one client with more leases than `maxLeases`: logged once for each path. */
class Surpluses extends RecentKeys {}

/** The call releases its leases, so that another call can have them. */
interface GivesWay {
  readonly is: 'gives way';
}

/** The first ones are probably the ones that the call waits for. */
const mostLeasesAsked = 100;

/** The two parent znodes of Curator's InterProcessSemaphoreV2: its LOCK_PARENT and LEASE_PARENT. */
const locks = 'locks';
const leases = 'leases';

function isSameSet(names: readonly string[], known: readonly string[]): boolean {
  if (names.length !== known.length) return false;
  const all = new Set(known);
  return names.every((name) => all.has(name));
}

function giveBack(grants: readonly Grant[]): Promise<unknown> {
  return Promise.all(grants.map((grant) => grant.release()));
}

function ignore(): void {
  // The znode never existed, or the server could not be asked: the znodes below say more, and the next call asks again.
  // Or the answer came too late.
}
