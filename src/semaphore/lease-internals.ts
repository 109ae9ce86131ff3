import { inNoContext } from '../support/no-context.js';
import { ForeignNodeError, RequestFailedError } from '../internals/lock-errors.js';
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
import type { Place } from '../internals/attempt.js';
import { LockInternals } from '../internals/lock-internals.js';
import type { Deadline } from '../internals/deadline.js';
import { Retries } from '../internals/retries.js';
import { SharedCount } from './shared-count.js';
import { StandOff } from './stand-off.js';
import { Surplus } from './surplus.js';
import { watchZnode } from '../internals/watch-znode.js';

/**
 * The wait for leases, in Curator's V2 layout: whose turn it is at the mutex `<path>/locks` creates znodes below `<path>/leases` and waits there, alone,
 * until they are among the first. All leases of one call are taken in one turn: two that each have half of what they want would wait for each
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
  readonly driver = new LeaseDriver(() => this.#maxLeases);

  constructor(client: LockClient, path: string, limit: Limit) {
    this.#client = client;
    this.#path = path;
    this.#limit = limit;
    if (limit.is === 'fixed') this.#maxLeases = limit.maxLeases;
    this.#count = limit.is === 'shared' ? new SharedCount(client, limit.path) : undefined;
    this.#folders = { locks: `${client.chroot}${join(path, locks)}`, leases: `${client.chroot}${this.leasesPath}` };
    const address = Buffer.from(localAddress());
    const common = { foreignNodes: 'reject', data: () => address } as const;
    this.#mutex = new LockInternals(client, join(path, locks), { ...common, driver: standardDriver });
    this.#leases = new LockInternals(client, this.leasesPath, { ...common, driver: this.driver, hasMarkedUuid: true });
  }

  get leasesPath(): string {
    return join(this.#path, leases);
  }

  /** As many grants; undefined where the deadline may not wait and there are not so many free leases. Settles the moment the deadline expires. */
  acquire(quantity: number, deadline: Deadline, data?: Uint8Array): Promise<readonly Grant[] | undefined> {
    return deadline.limit(
      () => (deadline.mayWait ? this.#run(quantity, deadline, data) : this.#afterOtherTries(() => this.#tryOnce(quantity, deadline, data))),
      (grants) => grants?.forEach((grant) => void grant.release()),
    );
  }

  /** One after the other: two tries of one moment would find each other in line at `locks`, and one of them would get nothing although leases are free. */
  #afterOtherTries<T>(attempt: () => Promise<T>): Promise<T> {
    const tried = inNoContext(() => this.#lastTry.then(attempt));
    this.#lastTry = tried.catch(ignore);
    return tried;
  }

  /**
   * Looks before it writes. Then it needs the turn, too, because those who stand in line at `locks` have asked before. Where another process takes its turn in the same moment, one
   * of both gets nothing.
   */
  async #tryOnce(quantity: number, deadline: Deadline, data: Uint8Array | undefined): Promise<readonly Grant[] | undefined> {
    deadline.check();
    const { session } = this.#client;
    if (!session.isConnected) return undefined;
    this.#refuseStrangers(session, deadline);
    if ((await this.#readLimit(session, deadline)) === 'over') return undefined;
    if ((await this.#countFree(session)) < quantity) return undefined;
    deadline.check();
    const turn = await this.#mutex.attempt(session, deadline, { data });
    if (turn.is !== 'granted') return undefined;
    const taken = await this.#take(quantity, turn.grant, deadline, data);
    return taken.is === 'granted' ? taken.grants : undefined;
  }

  async #countFree(session: Session): Promise<number> {
    try {
      const folders = { locks: join(this.#path, locks), leases: this.leasesPath };
      return await countFreeLeases(session, this.#client.chroot, folders, () => this.#maxLeases);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      if (error.isRetryable) return 0;
      throw new RequestFailedError(`The semaphore ${this.#path} cannot be acquired`, error);
    }
  }

  async #run(quantity: number, deadline: Deadline, data: Uint8Array | undefined): Promise<readonly Grant[]> {
    const retries = new Retries(this.#client, deadline.startedAt);
    for (;;) {
      this.#refuseStrangers(this.#client.session, deadline);
      const turn = await this.#mutex.acquire(deadline, undefined, data);
      if (turn === undefined) continue;
      const taken = await this.#take(quantity, turn, deadline, data);
      if (taken.is === 'granted') return taken.grants;
      if (taken.is === 'vanished') await retries.pause(deadline, this.#leases.vanished());
    }
  }

  /** Whoever has the turn takes all the leases. If one cannot be had, they are given back before the turn is: who is next finds none of ours. */
  async #take(quantity: number, turn: Grant, deadline: Deadline, data: Uint8Array | undefined): Promise<Taken> {
    const { session } = this.#client;
    const grants: Grant[] = [];
    const discards: Promise<void>[] = [];
    const wait: Wait = { turn, grants, surplus: this.#newSurplus(), standOff: new StandOff(this.#client.clock), givesWay: false };
    let taken: Taken = { is: 'vanished' };
    const areHeld = (): boolean => [turn, ...grants].every((grant) => grant.isValid);
    try {
      // Asked again: whoever came to this path since then finds our folders there.
      this.#refuseStrangers(session, deadline);
      while (areHeld() && grants.length < quantity && !wait.givesWay) {
        if ((await this.#readLimit(session, deadline)) === 'over') break;
        const outcome = await this.#leases.attempt(session, deadline, {
          news: (place) => this.#news(place, wait, deadline),
          discarded: (gone) => void discards.push(gone),
          data,
        });
        if (outcome.is === 'granted') grants.push(outcome.grant);
        else if (outcome.is === 'vanished' || !deadline.mayWait) return taken;
      }
      if (session.isEnded || wait.givesWay) taken = { is: 'over' };
      else if (grants.length === quantity && areHeld()) taken = { is: 'granted', grants };
      return taken;
    } finally {
      if (taken.is === 'granted') void turn.release();
      else void inNoContext(() => Promise.all([giveBack(grants), ...discards]).then(() => turn.release()));
    }
  }

  /**
   * `over` when the turn is lost, because somebody else may have it and wait for our znodes to go; or when a lease is that we have already; or when this call
   * gives way.
   */
  async #news(place: Place, wait: Wait, deadline: Deadline): Promise<'look' | 'over'> {
    const { session, sorted, index } = place;
    const held = [wait.turn, ...wait.grants];
    const surplusInMs = wait.surplus.look(sorted.slice(0, index));
    const standOffInMs = await this.#standOffIn(place, wait, deadline);
    if (standOffInMs === 'give way') {
      wait.givesWay = true;
      return 'over';
    }
    const lookInMs = Math.min(surplusInMs, standOffInMs);
    const news = await deadline.wait<'look' | 'over'>((wake, fail) => {
      const look = (): void => wake('look');
      const stops = [
        session.onChange(() => session.isEnded && look()),
        ...held.map((grant) => grant.onLost(() => wake('over'))),
        watchZnode(session, this.#folders.leases, { children: sorted }, { changed: look, failed: fail }),
      ];
      if (lookInMs < Infinity) stops.push(this.#client.clock.after(lookInMs, look));
      if (this.#count) stops.push(this.#count.watch(session, this.#maxLeases, look));
      if (held.some((grant) => !grant.isValid)) wake('over');
      return () => stops.forEach((stop) => stop());
    });
    return news === 'look' ? this.#readLimit(session, deadline) : news;
  }

  /** Only a call that has some leases already keeps them from somebody by its wait. */
  #standOffIn({ session, sorted, index }: Place, { turn, grants, standOff }: Wait, deadline: Deadline): Promise<number | 'give way'> {
    if (grants.length === 0) return Promise.resolve(Infinity);
    const part = { session, ...this.#folders, turn: turn.node.name, sorted, index, own: grants.map(({ node }) => node.name) };
    return deadline.limit(() => standOff.look(part), ignore);
  }

  #newSurplus(): Surplus {
    const maxLeases = this.#limit.is === 'fixed' ? this.#limit.maxLeases : Infinity;
    return new Surplus({ path: this.#path, maxLeases, clock: this.#client.clock, stayMs: () => 2 * this.#client.sessionTimeoutMs });
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
    session.request(getChildren(`${this.#client.chroot}${this.#path}`)).then(
      ({ value }) => {
        const strangers = value.filter((name) => name !== locks && name !== leases);
        if (strangers.length > 0) deadline.end(new ForeignNodeError(this.#path, strangers));
      },
      ignore,
    );
  }
}

/** How many leases there are: said by the application, or by a znode that may change. */
export type Limit = { readonly is: 'fixed'; readonly maxLeases: number } | { readonly is: 'shared'; readonly path: string };

type Taken =
  | { readonly is: 'granted'; readonly grants: readonly Grant[] }
  /** One of its znodes was deleted: the retry policy decides. */
  | { readonly is: 'vanished' }
  /** The session has ended, or the call gives way: it queues up again. */
  | { readonly is: 'over' };

/** The wait for the leases of one call, in one turn. */
interface Wait {
  readonly turn: Grant;
  /** What it has so far. */
  readonly grants: readonly Grant[];
  readonly surplus: Surplus;
  readonly standOff: StandOff;
  givesWay: boolean;
}

/** The folders of Curator's InterProcessSemaphoreV2: its LOCK_PARENT and LEASE_PARENT. */
const locks = 'locks';

const leases = 'leases';

function giveBack(grants: readonly Grant[]): Promise<unknown> {
  return Promise.all(grants.map((grant) => grant.release()));
}

function ignore(): void {
  // Nobody was ever there, or the server could not be asked: the znodes below say more, and the next call asks again. Or it came too late.
}
