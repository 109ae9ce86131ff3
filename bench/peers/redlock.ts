import { Redis } from 'ioredis';
import { createRequire } from 'node:module';
import { addressesOf, addressOf, type Addresses } from '../places.ts';
import { handOverTimer, timed, type Outcome, type Peer, type Scenario } from './peer.ts';

/** The part of redlock that this peer uses. */
interface Redlock {
  lock(resource: string, ttlMs: number): Promise<{ unlock(): Promise<void> }>;
}

const RedlockOf = createRequire(import.meta.url)('redlock') as new (
  clients: readonly Redis[],
  options: { retryCount: number; retryDelay: number; retryJitter: number },
) => Redlock;

/**
 * redlock waits by asking again after a pause. Its default of 200 ± 100 ms would make a hand-over slower than that of
 * each other peer, so that the pause is shorter here.
 */
const retries = { retryCount: -1, retryDelay: 10, retryJitter: 5 };
const ttlMs = 30_000;

/** redlock on Redis, with ioredis. On three servers it asks all of them for each lock. */
export class RedlockPeer implements Peer {
  readonly #addresses: Addresses;
  readonly #clients: Redis[] = [];
  readonly #sessions = new Map<string, Redlock[]>();

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    const sessions = await this.#open(scenario);
    const handOver = handOverTimer(scenario);
    const outcome = await timed(scenario, durationMs, async (owner) => {
      const redlock = sessions[owner % sessions.length];
      if (redlock === undefined) throw new Error('no session');
      const lock = await redlock.lock(`bench-${scenario.name}-${owner % scenario.locks}`, ttlMs);
      handOver.granted();
      await lock.unlock();
    });
    return { ...outcome, ...handOver.result };
  }

  close(): Promise<void> {
    for (const client of this.#clients) client.disconnect();
    return Promise.resolve();
  }

  async #open({ place = 'loopback', sessions }: Scenario): Promise<readonly Redlock[]> {
    const open = this.#sessions.get(place) ?? [];
    this.#sessions.set(place, open);
    while (open.length < sessions) {
      const addresses =
        place === 'ensemble' ? addressesOf(this.#addresses, place) : [addressOf(this.#addresses, place, open.length)];
      const clients = addresses.map((address) => new Redis(Number(address.split(':')[1]), '127.0.0.1'));
      this.#clients.push(...clients);
      await Promise.all(clients.map((client) => client.ping()));
      open.push(new RedlockOf(clients, retries));
    }
    return open.slice(0, sessions);
  }
}
