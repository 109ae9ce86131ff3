import { setTimeout as delay } from 'node:timers/promises';
import type * as lib from '../../src/index.ts';
import { InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphore, LockClient } from '../library.ts';
import { maxLeases, timed, writerPauseMs, type Outcome, type Peer, type Scenario } from './peer.ts';

interface Lock {
  acquire(): Promise<lib.Hold>;
}

/** This library. Each owner acquires outside of every lock context, and is therefore a separate owner. */
export class Ours implements Peer {
  readonly #connectString: string;
  readonly #clients: lib.LockClient[] = [];

  constructor(connectString: string) {
    this.#connectString = connectString;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    const { kind = 'mutex', name, sessions, locks: paths } = scenario;
    while (this.#clients.length < sessions) this.#clients.push(await LockClient.connect(this.#connectString));
    const path = (lock: number): string => `/bench/ours-${name}-${lock}`;
    const locks = Array.from({ length: Math.max(sessions, paths) }, (_, index) =>
      open(kind, this.#client(index % sessions), path(index % paths)),
    );
    await Promise.all(locks.map(async (lock) => (await lock.acquire()).release()));
    const handsOver = kind === 'mutex' && paths === 1;
    const handOversMs: number[] = [];
    let releasedAt: number | undefined;
    const writing = kind === 'readers' ? this.#write(path(0), durationMs) : undefined;
    const outcome = await timed(scenario, durationMs, async (owner) => {
      const hold = await lockOf(locks, owner).acquire();
      if (handsOver) {
        if (releasedAt !== undefined) handOversMs.push(performance.now() - releasedAt);
        releasedAt = performance.now();
      }
      await hold.release();
    });
    return { ...outcome, ...(handsOver && { handOversMs }), ...(writing && { writerWaitsMs: await writing }) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  /** The waits of the writer. */
  async #write(path: string, durationMs: number): Promise<number[]> {
    const { writeLock } = new InterProcessReadWriteLock(this.#client(0), path);
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

  #client(index: number): lib.LockClient {
    const client = this.#clients[index];
    if (client === undefined) throw new Error('no client');
    return client;
  }
}

function open(kind: 'mutex' | 'readers' | 'leases', client: lib.LockClient, path: string): Lock {
  if (kind === 'leases') return new InterProcessSemaphore(client, path, { maxLeases });
  return kind === 'readers'
    ? new InterProcessReadWriteLock(client, path).readLock
    : new InterProcessMutex(client, path);
}

function lockOf(locks: readonly Lock[], owner: number): Lock {
  const lock = locks[owner % locks.length];
  if (lock === undefined) throw new Error('no lock');
  return lock;
}
