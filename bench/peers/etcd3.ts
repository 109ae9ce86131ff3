import { Etcd3, EtcdLockFailedError } from 'etcd3';
import { addressOf, type Addresses } from '../places.ts';
import { handOverTimer, timed, type Outcome, type Peer, type Scenario } from './peer.ts';

/**
 * The `Lock` of etcd3. It does not wait: if the lock is held, `acquire` rejects. Therefore each session watches the key
 * of the lock, and asks again when the key is deleted.
 */
export class Etcd3Peer implements Peer {
  readonly #addresses: Addresses;
  readonly #clients = new Map<string, Etcd3[]>();

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    const clients = this.#open(scenario);
    const key = (owner: number): string => `bench-${scenario.name}-${owner % scenario.locks}`;
    const isContended = scenario.owners > scenario.locks;
    const deletions = isContended ? await Promise.all(clients.map((client) => Deletions.watch(client, key(0)))) : [];
    const handOver = handOverTimer(scenario);
    const outcome = await timed(scenario, durationMs, async (owner) => {
      const client = clients[owner % clients.length];
      if (client === undefined) throw new Error('no client');
      const lock = await acquire(client, key(owner), deletions[owner % clients.length]);
      handOver.granted();
      await lock.release();
    });
    await Promise.all(deletions.map((each) => each.stop()));
    return { ...outcome, ...handOver.result };
  }

  close(): Promise<void> {
    for (const client of [...this.#clients.values()].flat()) client.close();
    return Promise.resolve();
  }

  #open({ place = 'loopback', sessions }: Scenario): readonly Etcd3[] {
    const open = this.#clients.get(place) ?? [];
    this.#clients.set(place, open);
    while (open.length < sessions) {
      open.push(new Etcd3({ hosts: `http://${addressOf(this.#addresses, place, open.length)}` }));
    }
    return open.slice(0, sessions);
  }
}

async function acquire(client: Etcd3, key: string, deletions?: Deletions): Promise<{ release(): Promise<void> }> {
  for (;;) {
    const seen = deletions?.count ?? 0;
    try {
      return await client.lock(key).acquire();
    } catch (error) {
      if (!(error instanceof EtcdLockFailedError) || deletions === undefined) throw error;
      await deletions.moreThan(seen);
    }
  }
}

/** Counts the deletions of a key, as one client sees them. */
class Deletions {
  count = 0;
  readonly #stop: () => Promise<void>;
  #waiting: (() => void)[] = [];

  static async watch(client: Etcd3, key: string): Promise<Deletions> {
    const watcher = await client.watch().key(key).create();
    const deletions = new Deletions(() => watcher.cancel());
    watcher.on('delete', () => deletions.#deleted());
    return deletions;
  }

  private constructor(stop: () => Promise<void>) {
    this.#stop = stop;
  }

  async moreThan(seen: number): Promise<void> {
    while (this.count <= seen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  stop(): Promise<void> {
    return this.#stop();
  }

  #deleted(): void {
    this.count += 1;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
