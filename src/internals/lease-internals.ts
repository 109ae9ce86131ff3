import { ForeignNodeError } from '../client/errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getChildren } from '../client/operations.js';
import { join } from '../client/path.js';
import type { Session } from '../client/session.js';
import { expected } from '../client/validate.js';
import { leaseDriver } from '../driver/lease-driver.js';
import { standardDriver } from '../driver/standard-driver.js';
import type { Grant } from './grant.js';
import { localAddress } from './local-address.js';
import type { Place } from './attempt.js';
import { LockInternals } from './lock-internals.js';
import type { Mode } from './lock-queue.js';
import type { Patience } from './patience.js';
import { Retries } from './retries.js';
import { SharedCount } from './shared-count.js';
import { watchChildren } from './watch-children.js';

/** How many leases there are: said by the application, or by a znode that may change. */
export type Limit = { readonly is: 'fixed'; readonly maxLeases: number } | { readonly is: 'shared'; readonly path: string };

type Taken =
  | { readonly is: 'granted'; readonly grants: readonly Grant[] }
  | { readonly is: 'vanished' }
  | { readonly is: 'over' };

/** The folders of Curator's InterProcessSemaphoreV2: its LOCK_PARENT and LEASE_PARENT. */
const locks = 'locks';
const leases = 'leases';
const surplusMs = 1_000;

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
  /** As many as the limit said when it was last asked. */
  #maxLeases = 0;

  constructor(client: LockClient, path: string, limit: Limit) {
    this.#client = client;
    this.#path = path;
    this.#limit = limit;
    if (limit.is === 'fixed') this.#maxLeases = limit.maxLeases;
    this.#count = limit.is === 'shared' ? new SharedCount(client, limit.path) : undefined;
    const address = Buffer.from(localAddress());
    const common = { foreignNodes: 'reject', data: () => address } as const;
    this.#mutex = new LockInternals(client, join(path, locks), { ...common, driver: standardDriver, maxLeases: 1 });
    const maxLeases = (): number => this.#maxLeases;
    this.#leases = new LockInternals(client, this.leasesPath, {
      ...common,
      driver: leaseDriver,
      get maxLeases() {
        return maxLeases();
      },
    });
  }

  get leasesPath(): string {
    return join(this.#path, leases);
  }

  /** As many grants, or undefined in mode `once` when there are not so many free leases. Settles the moment the patience is over. */
  acquire(quantity: number, patience: Patience, mode: Mode, data?: Uint8Array): Promise<readonly Grant[] | undefined> {
    return patience.limit(
      () => (mode === 'once' ? this.#tryOnce(quantity, patience, data) : this.#run(quantity, patience, data)),
      (grants) => grants?.forEach((grant) => void grant.end()),
    );
  }

  /**
   * Without the mutex, which somebody else may have for a moment while leases are free. It is not needed: only the first `maxLeases` hold. Nobody
   * who waits is overtaken, because who waits has a znode before ours.
   */
  async #tryOnce(quantity: number, patience: Patience, data: Uint8Array | undefined): Promise<readonly Grant[] | undefined> {
    const { session } = this.#client;
    if (!session.isConnected) return undefined;
    this.#refuseStrangers(session, patience);
    if ((await this.#readLimit(session, patience, 'once')) === 'over') return undefined;
    const grants: Grant[] = [];
    try {
      while (grants.length < quantity) {
        const grant = await this.#leases.acquire(patience, 'once', undefined, data);
        if (grant === undefined) break;
        grants.push(grant);
      }
    } finally {
      if (grants.length < quantity) void giveBack(grants);
    }
    return grants.length < quantity ? undefined : grants;
  }

  async #run(quantity: number, patience: Patience, data: Uint8Array | undefined): Promise<readonly Grant[]> {
    const retries = new Retries(this.#client, patience.startedAt);
    for (;;) {
      this.#refuseStrangers(this.#client.session, patience);
      const turn = await this.#mutex.acquire(patience, 'wait', undefined, data);
      if (turn === undefined) continue;
      const taken = await this.#take(quantity, turn, patience, data);
      if (taken.is === 'granted') return taken.grants;
      if (taken.is === 'vanished') await retries.pause(patience, this.#leases.vanished());
    }
  }

  /** Whoever has the turn takes all the leases. If one cannot be had, they are given back before the turn is: who is next finds none of ours. */
  async #take(quantity: number, turn: Grant, patience: Patience, data: Uint8Array | undefined): Promise<Taken> {
    const { session } = this.#client;
    const grants: Grant[] = [];
    const discards: Promise<void>[] = [];
    const surplus = new Surplus(this.#client, this.#path, this.#limit);
    let taken: Taken = { is: 'vanished' };
    const areHeld = (): boolean => [turn, ...grants].every((grant) => grant.isValid);
    try {
      // Asked again: whoever came to this path since then finds our folders there.
      this.#refuseStrangers(session, patience);
      while (areHeld() && grants.length < quantity) {
        if ((await this.#readLimit(session, patience)) === 'over') break;
        const outcome = await this.#leases.attempt(session, patience, 'wait', {
          news: (place) => this.#news(place, [turn, ...grants], surplus, patience),
          discarded: (gone) => void discards.push(gone),
          data,
        });
        if (outcome.is === 'granted') grants.push(outcome.grant);
        else if (outcome.is === 'vanished') return taken;
      }
      if (session.isEnded) taken = { is: 'over' };
      else if (grants.length === quantity && areHeld()) taken = { is: 'granted', grants };
      return taken;
    } finally {
      if (taken.is === 'granted') void turn.end();
      else void Promise.all([giveBack(grants), ...discards]).then(() => turn.end());
    }
  }

  /** `over` when the turn is lost, because somebody else may have it and wait for our znodes to go; or when a lease is that we have already. */
  async #news({ session, sorted, index }: Place, held: readonly Grant[], surplus: Surplus, patience: Patience): Promise<'look' | 'over'> {
    const news = await patience.wait<'look' | 'over'>((wake, fail) => {
      const look = (): void => wake('look');
      const stops = [
        session.onChange(() => session.isEnded && look()),
        ...held.map((grant) => grant.onLost(() => wake('over'))),
        watchChildren(session, `${this.#client.chroot}${this.leasesPath}`, sorted, { changed: look, failed: fail }),
        surplus.watch(index, fail),
      ];
      if (this.#count) stops.push(this.#count.watch(session, this.#maxLeases, look));
      if (held.some((grant) => !grant.isValid)) wake('over');
      return () => stops.forEach((stop) => stop());
    });
    return news === 'look' ? this.#readLimit(session, patience) : news;
  }

  async #readLimit(session: Session, patience: Patience, mode: Mode = 'wait'): Promise<'look' | 'over'> {
    if (this.#count === undefined) return 'look';
    const count = await this.#count.read(session, patience, mode);
    if (count === undefined) return 'over';
    this.#maxLeases = count;
    return 'look';
  }

  /** A lock of another kind on this path ends the call: nobody can say who of both goes first. */
  #refuseStrangers(session: Session, patience: Patience): void {
    session.request(getChildren(`${this.#client.chroot}${this.#path}`)).then(
      ({ value }) => {
        const strangers = value.filter((name) => name !== locks && name !== leases);
        if (strangers.length > 0) patience.end(new ForeignNodeError(this.#path, strangers));
      },
      ignore,
    );
  }
}

/**
 * More leases on the server than there are, by our count: whoever holds the others counts otherwise. Only if it lasts: a znode may be about to
 * be deleted.
 */
class Surplus {
  readonly #client: LockClient;
  readonly #error: () => RangeError;
  readonly #maxLeases: number;
  #since: number | undefined;

  constructor(client: LockClient, path: string, limit: Limit) {
    this.#client = client;
    this.#maxLeases = limit.is === 'fixed' ? limit.maxLeases : Infinity;
    this.#error = () => new RangeError(expected('maxLeases', `what others use for the semaphore ${path}, where more leases are held`, this.#maxLeases));
  }

  /** @param before how many leases are before the one that waits */
  watch(before: number, fail: (error: unknown) => void): () => void {
    const { clock } = this.#client;
    if (before <= this.#maxLeases) {
      this.#since = undefined;
      return () => undefined;
    }
    this.#since ??= clock.now();
    return clock.after(Math.max(0, this.#since + surplusMs - clock.now()), () => fail(this.#error()));
  }
}

function giveBack(grants: readonly Grant[]): Promise<unknown> {
  return Promise.all(grants.map((grant) => grant.end()));
}

function ignore(): void {
  // Nobody was ever there, or the server could not be asked: the znodes below say more, and the next call asks again.
}
