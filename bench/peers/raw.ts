import zookeeper from 'node-zookeeper-client';
import { timed, type Outcome, type Peer, type Scenario } from './peer.ts';

type Done<T> = (error: (Error & { getCode?: () => number }) | null, value: T) => void;

/** The part of node-zookeeper-client that this peer uses. */
interface Client {
  once(event: 'connected', listener: () => void): void;
  connect(): void;
  close(): void;
  create(path: string, data: Buffer, mode: number, done: Done<string>): void;
  remove(path: string, done: Done<void>): void;
  getChildren(path: string, done: Done<string[]>): void;
  getData(path: string, watcher: () => void, done: Done<Buffer>): void;
}

const { createClient, CreateMode } = zookeeper as unknown as {
  createClient: (connectString: string, options: { sessionTimeout: number }) => Client;
  CreateMode: { PERSISTENT: number; EPHEMERAL_SEQUENTIAL: number };
};

/**
 * Only the requests that every lock has to send, on plain node-zookeeper-client. This is the limit that the server and
 * the client library set.
 * With one lock per owner, or with many owners in one process, these requests are create and delete. With one session
 * per owner of one lock, they are the chain of delete, event, list and the next delete.
 */
export class Raw implements Peer {
  readonly #connectString: string;
  readonly #clients: Client[] = [];

  constructor(connectString: string) {
    this.#connectString = connectString;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    while (this.#clients.length < scenario.sessions) this.#clients.push(await connected(this.#connectString));
    const parent = `/bench/raw-${scenario.name}`;
    await made(this.#client(0), '/bench');
    await made(this.#client(0), parent);
    return scenario.sessions > 1
      ? this.#chain(scenario, parent, durationMs)
      : this.#pairs(scenario, parent, durationMs);
  }

  close(): Promise<void> {
    for (const client of this.#clients) client.close();
    return Promise.resolve();
  }

  #pairs(scenario: Scenario, parent: string, durationMs: number): Promise<Outcome> {
    return timed(scenario, durationMs, async (owner) => {
      const path = await create(this.#client(0), `${parent}/${owner}-lock-`);
      await remove(this.#client(0), path);
    });
  }

  /** The znodes exist before the clock starts, each with a watch on the one before it. Every hop lists once. */
  async #chain(scenario: Scenario, parent: string, durationMs: number): Promise<Outcome> {
    const hops: Hop[] = [];
    for (const owner of Array.from({ length: Math.ceil((durationMs / 1_000) * hopsPerSecond) }, (_, index) => index)) {
      const client = this.#client(owner % scenario.sessions);
      const path = await create(client, `${parent}/lock-`);
      const before = hops.at(-1);
      hops.push({ client, path, ready: before && gone(client, before.path) });
    }
    // One connection answers in order, so every watch is planted after this.
    await Promise.all(this.#clients.map((client) => children(client, parent)));
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    for (const { client, path, ready } of hops) {
      await ready;
      await children(client, parent);
      const removed = remove(client, path);
      // The next client learns of the deletion by its watch event, as a waiter in another process does.
      removed.catch(() => undefined);
    }
    const { user, system } = process.cpuUsage(cpu);
    return { cycles: hops.length, tookMs: performance.now() - startedAt, cpuMs: (user + system) / 1_000 };
  }

  #client(index: number): Client {
    const client = this.#clients[index];
    if (client === undefined) throw new Error('no client');
    return client;
  }
}

interface Hop {
  readonly client: Client;
  readonly path: string;
  /** Settles when this znode is first. */
  readonly ready: Promise<void> | undefined;
}

/** The number of znodes is chosen so that the chain lasts about as long as the other runs. */
const hopsPerSecond = 500;

const data = Buffer.from('127.0.0.1');

function connected(connectString: string): Promise<Client> {
  const client = createClient(connectString, { sessionTimeout: 30_000 });
  return new Promise((resolve) => {
    client.once('connected', () => resolve(client));
    client.connect();
  });
}

function made(client: Client, path: string): Promise<void> {
  return new Promise((resolve) => client.create(path, data, CreateMode.PERSISTENT, () => resolve()));
}

function create(client: Client, path: string): Promise<string> {
  return promised((done) => client.create(path, data, CreateMode.EPHEMERAL_SEQUENTIAL, done));
}

function remove(client: Client, path: string): Promise<void> {
  return promised((done) => client.remove(path, done));
}

function children(client: Client, path: string): Promise<string[]> {
  return promised((done) => client.getChildren(path, done));
}

/** Resolves when the znode is deleted, or at once if it does not exist. */
function gone(client: Client, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.getData(
      path,
      () => resolve(),
      (error) => {
        if (error?.getCode?.() === -101) resolve();
        else if (error) reject(error);
      },
    );
  });
}

function promised<T>(ask: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => ask((error, value) => (error ? reject(error) : resolve(value))));
}
