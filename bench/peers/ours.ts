import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { timed, type Outcome, type Peer, type Scenario } from './peer.ts';

/** This library. Each owner is outside of every context, and so an owner of its own. */
export class Ours implements Peer {
  readonly #connectString: string;
  readonly #clients: LockClient[] = [];

  constructor(connectString: string) {
    this.#connectString = connectString;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    while (this.#clients.length < scenario.sessions) this.#clients.push(await LockClient.connect(this.#connectString));
    const path = (lock: number): string => `/bench/ours-${scenario.name}-${lock}`;
    const mutexes = Array.from({ length: Math.max(scenario.sessions, scenario.locks) }, (_, index) => {
      return new InterProcessMutex(this.#client(index % scenario.sessions), path(index % scenario.locks));
    });
    await Promise.all(mutexes.map(async (mutex) => (await mutex.acquire()).release()));
    const handOversMs: number[] = [];
    let releasedAt: number | undefined;
    const outcome = await timed(scenario, durationMs, async (owner) => {
      const hold = await this.#mutex(mutexes, owner).acquire();
      if (scenario.locks === 1) {
        if (releasedAt !== undefined) handOversMs.push(performance.now() - releasedAt);
        releasedAt = performance.now();
      }
      await hold.release();
    });
    return { ...outcome, ...(scenario.locks === 1 && { handOversMs }) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.close()));
  }

  #mutex(mutexes: readonly InterProcessMutex[], owner: number): InterProcessMutex {
    const mutex = mutexes[owner % mutexes.length];
    if (mutex === undefined) throw new Error('no mutex');
    return mutex;
  }

  #client(index: number): LockClient {
    const client = this.#clients[index];
    if (client === undefined) throw new Error('no client');
    return client;
  }
}
