import { setTimeout as delay } from 'node:timers/promises';
import type * as lib from '../../src/index.ts';
import { InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphore, LockClient } from '../library.ts';
import { addressOf, type Addresses, type Place } from '../places.ts';
import { handOverTimer, maxLeases, timed, writerPauseMs, type Outcome, type Peer, type Scenario } from './peer.ts';

interface Lock {
  acquire(): Promise<lib.Hold>;
}

/** This library. Each owner acquires outside of every lock context, and is therefore a separate owner. */
export class Ours implements Peer {
  readonly #addresses: Addresses;
  readonly #options: lib.LockClientOptions | undefined;
  readonly #clients = new Map<Place, lib.LockClient[]>();

  constructor(addresses: Addresses, options?: lib.LockClientOptions) {
    this.#addresses = addresses;
    this.#options = options;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    const { kind = 'mutex', name, sessions, locks: paths } = scenario;
    const clients = await this.#open(scenario);
    const path = (lock: number): string => `/bench/ours-${name}-${lock}`;
    const locks = Array.from({ length: Math.max(sessions, paths) }, (_, index) =>
      open(kind, nth(clients, index % sessions), path(index % paths)),
    );
    await Promise.all(locks.map(async (lock) => (await lock.acquire()).release()));
    const handOver = handOverTimer(scenario);
    const writing = kind === 'readers' ? write(nth(clients, 0), path(0), durationMs) : undefined;
    const outcome = await timed(scenario, durationMs, async (owner) => {
      const hold = await nth(locks, owner % locks.length).acquire();
      handOver.granted();
      await hold.release();
    });
    return { ...outcome, ...handOver.result, ...(writing && { writerWaitsMs: await writing }) };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].flat().map((client) => client.close()));
  }

  async #open({ place = 'loopback', sessions }: Scenario): Promise<readonly lib.LockClient[]> {
    const open = this.#clients.get(place) ?? [];
    this.#clients.set(place, open);
    while (open.length < sessions) {
      open.push(await LockClient.connect(addressOf(this.#addresses, place, open.length), this.#options));
    }
    return open;
  }
}

/** The waits of the writer. */
async function write(client: lib.LockClient, path: string, durationMs: number): Promise<number[]> {
  const { writeLock } = new InterProcessReadWriteLock(client, path);
  const until = performance.now() + durationMs;
  const waitsMs: number[] = [];
  while (performance.now() + writerPauseMs < until) {
    await delay(writerPauseMs);
    const askedAt = performance.now();
    const hold = await writeLock.acquire();
    waitsMs.push(performance.now() - askedAt);
    await hold.release();
  }
  return waitsMs;
}

function open(kind: 'mutex' | 'readers' | 'leases', client: lib.LockClient, path: string): Lock {
  if (kind === 'leases') return new InterProcessSemaphore(client, path, { maxLeases });
  return kind === 'readers'
    ? new InterProcessReadWriteLock(client, path).readLock
    : new InterProcessMutex(client, path);
}

function nth<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`no item ${index}`);
  return item;
}
