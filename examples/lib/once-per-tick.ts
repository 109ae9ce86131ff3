import type { Client } from 'node-zookeeper-client';
import {
  InterProcessMutex,
  RequestFailedError,
  type GuardedTransaction,
  type Hold,
  type LockClient,
} from 'zookeeper-fair-lock';

/**
 * One job of a schedule that several hosts run: each tick is done once. One host at a time has the turn, by a lock. The
 * ticks that are done are listed in a znode, and the list is written in the same transaction as the result of the job. So
 * a host that dies in the middle leaves nothing, and the next host, which waits for the lock, does the tick again.
 */
export class OncePerTick {
  readonly #mutex: InterProcessMutex;
  readonly #app: Client;
  readonly #path: string;

  /** @param app your own client of the same servers: it reads the list */
  constructor(locks: LockClient, app: Client, path: string) {
    this.#mutex = new InterProcessMutex(locks, `${path}/turn`);
    this.#app = app;
    this.#path = `${path}/done`;
  }

  /**
   * Waits until no other host has the turn. Resolves with the turn, or with undefined if the tick is done.
   *
   * @param tick the name of the tick, which must be the same on all hosts: the time that the schedule says, and not the
   * time that a clock shows
   */
  async begin(tick: string): Promise<Turn | undefined> {
    const hold = await this.#mutex.acquire();
    try {
      const list = await this.#read(hold);
      if (!list.ticks.includes(tick)) return new Turn(hold, list, tick);
    } catch (error) {
      await hold.release();
      throw error;
    }
    await hold.release();
    return undefined;
  }

  /** Reads the list as it is now. Nobody else writes it while this host has the turn. */
  async #read(hold: Hold): Promise<DoneTicks> {
    await hold.transaction().create(this.#path, Buffer.from('[]')).commit().catch(unless('NODE_EXISTS'));
    for (;;) {
      const { data, version } = await this.#get();
      // The server of the other client may lag behind.
      const checked = await hold.transaction().check(this.#path, { version }).commit().catch(unless('BAD_VERSION'));
      if (checked) return { path: this.#path, version, ticks: JSON.parse(data) as string[] };
    }
  }

  #get(): Promise<{ data: string; version: number }> {
    return new Promise((resolve, reject) => {
      this.#app.getData(this.#path, (error, data, { version } = { version: -1 }) =>
        error ? reject(error) : resolve({ data: String(data), version }),
      );
    });
  }
}

/** The right to do one tick. */
export class Turn {
  readonly tick: string;
  readonly #hold: Hold;
  readonly #list: DoneTicks;

  constructor(hold: Hold, list: DoneTicks, tick: string) {
    this.#hold = hold;
    this.#list = list;
    this.tick = tick;
  }

  /** Aborts when the turn is lost: then another host may do the tick. */
  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  /** Writes the result, which `add` adds, and the end of the tick: both as the host that has the turn, or nothing. */
  async done(add: (transaction: GuardedTransaction) => unknown): Promise<void> {
    const { path, version, ticks } = this.#list;
    const transaction = this.#hold.transaction();
    add(transaction);
    const all = [...ticks, this.tick].slice(-mostTicks);
    await transaction.setData(path, Buffer.from(JSON.stringify(all)), { version }).commit();
  }

  /** Gives the turn up. If the tick is not done, another host that waits for it does it. */
  async end(): Promise<void> {
    await this.#hold.release();
  }
}

interface DoneTicks {
  readonly path: string;
  readonly version: number;
  readonly ticks: readonly string[];
}

/** A host whose clock is slow may ask for a tick that others have done long before. */
const mostTicks = 1_000;

/** For `catch`: undefined for a transaction that was refused with this code. */
function unless(code: string): (error: unknown) => undefined {
  return (error) => {
    if (error instanceof RequestFailedError && (error.cause as { code?: string }).code === code) return undefined;
    throw error;
  };
}
