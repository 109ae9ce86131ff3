import { setTimeout as delay } from 'node:timers/promises';
import { clientFaults } from './client-faults.ts';
import { now, type HistoryEvent } from '../lab/judge/history.ts';
import { serverFaults } from './server-faults.ts';
import { clientWithOneFollower } from './client-with-one-follower.ts';
import type { Fault, FaultKind, World } from './world.ts';

/**
 * The faults of a client with one follower are drawn twice as often, because only one in four of them reveals a
 * deadline that is too late.
 */
const kinds = [serverFaults, clientFaults, clientWithOneFollower, clientWithOneFollower].flatMap((faults) =>
  Object.entries(faults),
);

/** Causes a fault, heals it, and causes the next, with quiet times in between. Each kind comes about equally often. */
export class Nemesis {
  readonly #world: World;
  readonly #record: (event: HistoryEvent) => void;
  readonly #bag: [string, FaultKind][] = [];
  #count = 0;

  constructor(world: World, record: (event: HistoryEvent) => void) {
    this.#world = world;
    this.#record = record;
  }

  /** Works until that time; resolves when every fault is healed. */
  async rage(until: number): Promise<void> {
    const { random, sessionTimeoutMs } = this.#world;
    while (now() < until) {
      // Every third quiet time is so long that every client must make progress again.
      await delay(this.#count % 3 === 0 ? sessionTimeoutMs + 3_000 : random.between(200, 2_000));
      if (now() >= until) return;
      await this.#strike();
    }
  }

  async #strike(): Promise<void> {
    const { random, sessionTimeoutMs, trio } = this.#world;
    const [name, kind] = this.#draw();
    const fault = await kind(this.#world, await trio.whole());
    if (fault === undefined) return;
    this.#count += 1;
    const id = `f${this.#count}`;
    const { target, clients, isStopped = false } = fault;
    if (random.chance(0.7)) await this.#haveHolders(clients);
    this.#record({ t: now(), type: 'fault', fault: id, kind: name, target, clients, isStopped });
    try {
      await fault.begin();
      await delay(fault.lastsMs ?? random.between(0.1, 2) * sessionTimeoutMs);
    } finally {
      await this.#heal(id, fault);
    }
  }

  /** One of the clients that the fault may hurt acquires locks and keeps them, so that it has something to lose. */
  async #haveHolders(names: readonly string[]): Promise<void> {
    const { clients, random, sessionTimeoutMs } = this.#world;
    const victims = clients.filter(({ name }) => names.includes(name));
    victims[random.whole(victims.length)]?.order({ is: 'keep', ms: 2.5 * sessionTimeoutMs });
    await delay(random.between(200, 1_000));
  }

  async #heal(id: string, fault: Fault): Promise<void> {
    await fault.heal();
    this.#record({ t: now(), type: 'healed', fault: id });
  }

  /** Draws from a bag that is filled again when it is empty, so that every kind comes up in a short run, too. */
  #draw(): [string, FaultKind] {
    if (this.#bag.length === 0) this.#bag.push(...kinds);
    const [drawn] = this.#bag.splice(this.#world.random.whole(this.#bag.length), 1);
    if (drawn === undefined) throw new Error('There are no kinds of faults');
    return drawn;
  }
}
