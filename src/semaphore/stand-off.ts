import type { Clock } from '../support/clock.js';
import { exists, getChildren } from '../zookeeper/wire/operations.js';
import { join } from '../zookeeper/wire/path.js';
import type { Session } from '../zookeeper/session/session.js';
import { ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { hasMarkedUuid } from '../driver/names.js';
import { standardDriver } from '../driver/standard-driver.js';
import { reached } from '../support/reached.js';

/**
 * Finds a deadlock with a Java client. Java's `acquire(2)` takes one lease in each turn at `<path>/locks`. So a Java
 * client may have its first lease and wait for its second turn, while this call has the turn and waits for that lease.
 * Java cannot give way, so this call does.
 */
export class StandOff {
  readonly #clock: Pick<Clock, 'now'>;
  #leases = '';
  #since = -Infinity;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** @returns the milliseconds until the next look, Infinity if such a deadlock is impossible; or `gives way` */
  async look(part: PartOfLeases): Promise<number | 'gives way'> {
    const { sorted, index, own } = part;
    const others = sorted.slice(0, index).filter((name) => !own.includes(name));
    // The owner of a lease with a marked name waits for no more leases. It releases a lease by itself, and then this
    // call looks again.
    if (others.length === 0 || others.some(hasMarkedUuid)) return Infinity;
    const now = this.#clock.now();
    const leases = sorted.join();
    if (leases !== this.#leases) this.#since = now;
    this.#leases = leases;
    const leftMs = this.#since + standstillMs - now;
    if (leftMs > 0) return leftMs;
    this.#since = now;
    reached('semaphore: leases stood still');
    return (await isWaitedForBehind(part, others)) ? 'gives way' : standstillMs;
  }
}

/** A call that has some of its leases and waits for the next one. */
export interface PartOfLeases {
  readonly session: Session;
  /** The two parent znodes. */
  readonly locks: string;
  readonly leases: string;
  /** The name of the call's znode in `locks`, which is its turn. */
  readonly turn: string;
  /** All leases as listed; the index of the one that waits; and the names of the leases that the call has. */
  readonly sorted: readonly string[];
  readonly index: number;
  readonly own: readonly string[];
}

/** How long the leases must stay unchanged before the call looks for a deadlock. */
const standstillMs = 1_500;

/**
 * True if each session that has one of `others` waits behind our turn. Otherwise one of them releases a lease by
 * itself.
 */
async function isWaitedForBehind(
  { session, locks, leases, turn }: PartOfLeases,
  others: readonly string[],
): Promise<boolean> {
  const ownerOf = (path: string): Promise<bigint | undefined> =>
    session.find(exists(path)).then((stat) => stat?.ephemeralOwner);
  try {
    const queue = standardDriver.sort((await session.find(getChildren(locks))) ?? []);
    const behind = queue.slice(queue.indexOf(turn) + 1);
    const waiting = new Set(await Promise.all(behind.map((name) => ownerOf(join(locks, name)))));
    const holding = await Promise.all(others.map((name) => ownerOf(join(leases, name))));
    return holding.every((owner) => owner !== undefined && waiting.has(owner));
  } catch (error) {
    // The answer is unknown, so the call asks again.
    if (error instanceof ZooKeeperError) return false;
    throw error;
  }
}
