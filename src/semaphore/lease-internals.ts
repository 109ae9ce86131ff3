import { inNoContext } from '../support/no-context.js';
import { ForeignNodeError } from '../internals/lock-errors.js';
import { requestFailed } from '../internals/refusal.js';
import type { LockClient } from '../client/lock-client.js';
import { getChildren } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { LeaseDriver } from './lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';
import { countFreeLeases, type SemaphoreFolders } from './free-leases.js';
import type { Grant } from '../internals/grant.js';
import { localAddress } from '../internals/local-address.js';
import type { Outcome, Waiting } from '../internals/attempt.js';
import { LockInternals } from '../internals/lock-internals.js';
import type { LockInternalsOptions, QueuedListener } from '../internals/znode-queue.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { readParticipants, type Participant } from '../internals/participants.js';
import type { Deadline } from '../support/deadline.js';
import { Retries } from '../internals/retries.js';
import { SharedCount } from './shared-count.js';
import { StandOff, type PartOfLeases } from './stand-off.js';
import { Surplus } from './surplus.js';
import { watchZnode } from '../zookeeper/watch-znode.js';

/**
 * The wait for leases, in Curator's V2 layout: whose turn it is at the mutex `<path>/locks` creates znodes below
 * `<path>/leases` and waits there, alone,
 * until they are among the first. All leases of one call are taken in one turn: two that each have half of what they
 * want would wait for each
 * other for ever, as they do in Curator.
 */
export class LeaseInternals {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #limit: Limit;
  readonly #count: SharedCount | undefined;
  readonly #mutex: LockInternals;
  readonly #leases: LockInternals;
  readonly #folders: SemaphoreFolders;
  #lastTry: Promise<unknown> = Promise.resolve();
  /** As many as the limit said when it was last asked. */
  #maxLeases = 0;
  /** Of the leases. */
  readonly kind: OrderedQueue;

  constructor(client: LockClient, path: string, limit: Limit, line: Line) {
    this.#client = client;
    this.#path = path;
    this.#limit = limit;
    if (limit.is === 'fixed') this.#maxLeases = limit.maxLeases;
    this.#count = limit.is === 'shared' ? new SharedCount(client, limit.path) : undefined;
    this.#folders = { locks: join(path, locks), leases: this.leasesPath };
    const address = Buffer.from(localAddress());
    const data = (): Uint8Array => address;
    const turns = new OrderedQueue(standardDriver, { path: join(path, locks), foreignNodes: 'reject' });
    this.kind = new OrderedQueue(new LeaseDriver(() => this.#maxLeases), {
      path: this.leasesPath,
      foreignNodes: 'reject',
      watchesChildren: true,
    });
    this.#mutex = new LockInternals(
      client,
      join(path, locks),
      placedIn(line, (position) => position + 1, { kind: turns, data }),
    );
    this.#leases = new LockInternals(
      client,
      this.leasesPath,
      placedIn(line, () => 1, { kind: this.kind, data, hasMarkedUuid: true }),
    );
  }

  get leasesPath(): string {
    return join(this.#path, leases);
  }

  /**
   * As many grants; undefined where the deadline may not wait and there are not so many free leases. Settles the moment
   * the deadline expires.
   */
  acquire(quantity: number, deadline: Deadline, data?: Uint8Array): Promise<readonly Grant[] | undefined> {
    return deadline.limit(
      () =>
        deadline.mayWait
          ? this.#run(quantity, deadline, data)
          : this.#afterOtherTries(() => this.#tryOnce(quantity, deadline, data)),
      (grants) => grants?.forEach((grant) => void grant.release()),
    );
  }

  /**
   * Those that have a lease, the oldest first. The limit is read for this question alone: an acquire that waits goes by
   * the one that it has read itself.
   */
  async holders(deadline: Deadline): Promise<Participant[]> {
    const count = this.#count;
    for (;;) {
      const limit = count
        ? await this.#client.ask((session) => count.read(session, deadline), deadline)
        : this.#maxLeases;
      // Its session has ended instead.
      if (limit === undefined) continue;
      return (await readParticipants(this.#client, this.leasesPath, this.kind, deadline)).slice(0, Math.max(0, limit));
    }
  }

  /**
   * One after the other: two tries of one moment would find each other in line at `locks`, and one of them would get
   * nothing although leases are free.
   */
  #afterOtherTries<T>(attempt: () => Promise<T>): Promise<T> {
    const tried = inNoContext(() => this.#lastTry.then(attempt));
    this.#lastTry = tried.catch(ignore);
    return tried;
  }

  /**
   * Looks before it writes. Then it needs the turn, too, because those who stand in line at `locks` have asked before.
   * Where another process takes its turn in the same moment, one
   * of both gets nothing.
   */
  async #tryOnce(
    quantity: number,
    deadline: Deadline,
    data: Uint8Array | undefined,
  ): Promise<readonly Grant[] | undefined> {
    deadline.check();
    const { session } = this.#client;
    if (!session.isConnected) return undefined;
    this.#refuseStrangers(session, deadline);
    if ((await this.#readLimit(session, deadline)) === 'over') return undefined;
    if ((await this.#countFree(session)) < quantity) return undefined;
    deadline.check();
    const turn = await this.#mutex.newAttempt(session, deadline).begin({ data });
    if (turn.is !== 'granted') return undefined;
    const taken = await this.#take(quantity, turn.grant, deadline, data);
    return taken.is === 'granted' ? taken.grants : undefined;
  }

  async #countFree(session: Session): Promise<number> {
    try {
      return await countFreeLeases(session, this.#folders, () => this.#maxLeases);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      if (error.isRetryable) return 0;
      throw requestFailed(this.#client, `The semaphore ${this.#path} cannot be acquired`, error);
    }
  }

  async #run(quantity: number, deadline: Deadline, data: Uint8Array | undefined): Promise<readonly Grant[]> {
    const retries = new Retries(this.#client);
    for (;;) {
      this.#refuseStrangers(this.#client.session, deadline);
      const turn = await this.#mutex.acquire(deadline, { data });
      if (turn === undefined) continue;
      const taken = await this.#take(quantity, turn, deadline, data);
      if (taken.is === 'granted') return taken.grants;
      if (taken.is === 'absent') await retries.pause(deadline, this.#leases.absentError());
    }
  }

  /**
   * Whoever has the turn takes all the leases. If one cannot be had, they are given back before the turn is: who is
   * next finds none of ours.
   */
  async #take(quantity: number, turn: Grant, deadline: Deadline, data: Uint8Array | undefined): Promise<Taken> {
    const { session } = this.#client;
    const grants: Grant[] = [];
    const wait: Wait = {
      turn,
      grants,
      deletions: [],
      surplus: this.#newSurplus(),
      standOff: new StandOff(this.#client.clock),
    };
    let taken: Taken = { is: 'absent' };
    const areHeld = (): boolean => [turn, ...grants].every((grant) => grant.isValid);
    try {
      // Asked again: whoever came to this path since then finds our folders there.
      this.#refuseStrangers(session, deadline);
      while (areHeld() && grants.length < quantity) {
        if ((await this.#readLimit(session, deadline)) === 'over') break;
        const outcome = await this.#takeOne(session, wait, deadline, data);
        if (outcome.is === 'granted') grants.push(outcome.grant);
        else if (outcome.is === 'gives way') return (taken = { is: 'over' });
        else if (outcome.is === 'absent' || !deadline.mayWait) return taken;
      }
      if (session.isEnded) taken = { is: 'over' };
      else if (grants.length === quantity && areHeld()) taken = { is: 'granted', grants };
      return taken;
    } finally {
      if (taken.is === 'granted') void turn.release();
      else void inNoContext(() => Promise.all([giveBack(grants), ...wait.deletions]).then(() => turn.release()));
    }
  }

  async #takeOne(
    session: Session,
    wait: Wait,
    deadline: Deadline,
    data: Uint8Array | undefined,
  ): Promise<Outcome | GivesWay> {
    const attempt = this.#leases.newAttempt(session, deadline);
    let outcome: Outcome | GivesWay = { is: 'over' };
    try {
      let step = await attempt.begin({ data });
      while (step.is === 'waiting') {
        const next = await this.#untilChanged(session, step, wait, deadline);
        if (next === 'gives way') outcome = { is: next };
        if (next !== 'look') return outcome;
        step = await attempt.goOn(step, 'recheck');
      }
      outcome = step;
      return outcome;
    } catch (error) {
      throw attempt.failed(error);
    } finally {
      if (outcome.is !== 'granted') wait.deletions.push(attempt.delete());
    }
  }

  /**
   * Waits for a reason to look again. `over` when the turn is lost, because another process may have it and wait for
   * the znodes of this call to go; or when a lease is lost that the
   * call has already; or when the call gives way.
   */
  async #untilChanged(
    session: Session,
    { position = 0, children: sorted = [] }: Waiting,
    wait: Wait,
    deadline: Deadline,
  ): Promise<'look' | 'over' | 'gives way'> {
    const held = [wait.turn, ...wait.grants];
    const surplusInMs = wait.surplus.look(sorted.slice(0, position));
    const standOffInMs = await this.#standOffIn({ session, sorted, index: position }, wait, deadline);
    if (standOffInMs === 'gives way') return standOffInMs;
    const lookInMs = Math.min(surplusInMs, standOffInMs);
    const news = await deadline.wait<'look' | 'over'>((wake, fail) => {
      const look = (): void => wake('look');
      const stops = [
        session.onChange(() => session.isEnded && look()),
        ...held.map((grant) => grant.onLost(() => wake('over'))),
        watchZnode(session, this.#folders.leases, 'children', {
          found: (names) => isSameSet(names, sorted) || look(),
          told: look,
          lost: look,
          failed: fail,
        }),
      ];
      if (lookInMs < Infinity) stops.push(this.#client.clock.after(lookInMs, look));
      if (this.#count) stops.push(this.#count.watch(session, this.#maxLeases, look));
      if (held.some((grant) => !grant.isValid)) wake('over');
      return () => stops.forEach((stop) => stop());
    });
    return news === 'look' ? this.#readLimit(session, deadline) : news;
  }

  /** Only a call that has some leases already keeps them from somebody by its wait. */
  #standOffIn(
    { session, sorted, index }: Pick<PartOfLeases, 'session' | 'sorted' | 'index'>,
    { turn, grants, standOff }: Wait,
    deadline: Deadline,
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
    return deadline.limit(() => standOff.look(part), ignore);
  }

  #newSurplus(): Surplus {
    const maxLeases = this.#limit.is === 'fixed' ? this.#limit.maxLeases : Infinity;
    return new Surplus({
      path: this.#path,
      maxLeases,
      clock: this.#client.clock,
      stayMs: () => 2 * this.#client.sessionTimeoutMs,
    });
  }

  async #readLimit(session: Session, deadline: Deadline): Promise<'look' | 'over'> {
    if (this.#count === undefined) return 'look';
    const count = await this.#count.read(session, deadline);
    if (count === undefined) return 'over';
    this.#maxLeases = count;
    return 'look';
  }

  /** A lock of another kind on this path ends the call: nobody can say who of both goes first. */
  #refuseStrangers(session: Session, deadline: Deadline): void {
    session.find(getChildren(this.#path)).then((names = []) => {
      const strangers = names.filter((name) => name !== locks && name !== leases);
      if (strangers.length > 0) deadline.end(new ForeignNodeError(this.#path, strangers));
    }, ignore);
  }
}

/** How many leases there are: said by the application, or by a znode that may change. */
export type Limit =
  { readonly is: 'fixed'; readonly maxLeases: number } | { readonly is: 'shared'; readonly path: string };

/** Where the calls of a semaphore stand in line for a lease. */
export interface Line {
  /** Told the place of a call, 1 is next. Undefined while nobody listens. */
  readonly queued: QueuedListener | undefined;
}

/** The call whose turn it is stands before those that queue up at `locks`; it waits at `leases` itself, and is next. */
function placedIn(
  line: Line,
  placeOf: (position: number) => number,
  options: LockInternalsOptions,
): LockInternalsOptions {
  return {
    ...options,
    get queued() {
      const { queued } = line;
      return (
        queued && {
          wantsPosition: queued.wantsPosition,
          tell: (position: number | undefined, path: string) =>
            queued.tell(position === undefined ? undefined : placeOf(position), path),
        }
      );
    },
  };
}

type Taken =
  | { readonly is: 'granted'; readonly grants: readonly Grant[] }
  /** One of its znodes was deleted: the retry policy decides. */
  | { readonly is: 'absent' }
  /** The session has ended, or the call gives way: it queues up again. */
  | { readonly is: 'over' };

/** The wait for the leases of one call, in one turn. */
interface Wait {
  readonly turn: Grant;
  /** What it has so far. */
  readonly grants: readonly Grant[];
  /** Of the znodes that were not granted. */
  readonly deletions: Promise<void>[];
  readonly surplus: Surplus;
  readonly standOff: StandOff;
}

/** The call gives its leases back, so that another one can have them. */
interface GivesWay {
  readonly is: 'gives way';
}

/** The folders of Curator's InterProcessSemaphoreV2: its LOCK_PARENT and LEASE_PARENT. */
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
  // Nobody was ever there, or the server could not be asked: the znodes below say more, and the next call asks again.
  // Or it came too late.
}
