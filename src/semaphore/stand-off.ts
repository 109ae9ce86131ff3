import type { Clock } from '../support/clock.js';
import { exists, getChildren } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { hasMarkedUuid } from '../driver/names.js';
import { standardDriver } from '../driver/standard-driver.js';

/**
 * Two that wait for each other: Java's `acquire(2)` takes one lease in each turn at `<path>/locks`, so it may have its
 * first one and stand in line for
 * its second turn, while we have the turn and wait for that very lease. Java cannot give way, so we do.
 */
export class StandOff {
  readonly #clock: Pick<Clock, 'now'>;
  #leases = '';
  #since = -Infinity;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /**
   * @returns in how many milliseconds to look again, Infinity where no wait of this kind can be; or that this call has
   * to give way
   */
  async look(part: PartOfLeases): Promise<number | 'gives way'> {
    const { sorted, index, own } = part;
    const others = sorted.slice(0, index).filter((name) => !own.includes(name));
    // The owner of such a lease waits for no more of them: one comes back by itself, and then there is another look.
    if (others.length === 0 || others.some(hasMarkedUuid)) return Infinity;
    const now = this.#clock.now();
    const leases = sorted.join();
    if (leases !== this.#leases) this.#since = now;
    this.#leases = leases;
    const leftMs = this.#since + standstillMs - now;
    if (leftMs > 0) return leftMs;
    this.#since = now;
    return (await isWaitedForBehind(part, others)) ? 'gives way' : standstillMs;
  }
}

/** Where a call stands that has some of its leases, and waits for the next one. */
export interface PartOfLeases {
  readonly session: Session;
  /** The folders on the servers. */
  readonly locks: string;
  readonly leases: string;
  /** The name of the znode in `locks` that is the call's turn. */
  readonly turn: string;
  /** All leases as listed, which of them is the one that waits, and the names of those that the call has. */
  readonly sorted: readonly string[];
  readonly index: number;
  readonly own: readonly string[];
}

/** How long no lease may come or go before it is asked whether any ever will. */
const standstillMs = 1_500;

/**
 * Whether each session that has one of `others` stands in line behind our turn: else one of them comes back by itself.
 */
async function isWaitedForBehind(
  { session, locks, leases, turn }: PartOfLeases,
  others: readonly string[],
): Promise<boolean> {
  const ownerOf = (path: string): Promise<bigint | undefined> =>
    session.find(exists(path)).then((stat) => stat?.ephemeralOwner);
  try {
    const line = standardDriver.sort((await session.find(getChildren(locks))) ?? []);
    const behind = line.slice(line.indexOf(turn) + 1);
    const waiting = new Set(await Promise.all(behind.map((name) => ownerOf(join(locks, name)))));
    const holding = await Promise.all(others.map((name) => ownerOf(join(leases, name))));
    return holding.every((owner) => owner !== undefined && waiting.has(owner));
  } catch (error) {
    // Nobody can say; it is asked again.
    if (error instanceof ZooKeeperError) return false;
    throw error;
  }
}
