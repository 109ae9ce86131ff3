import zookeeper from 'node-zookeeper-client';
import { addressOf, delaysMs, type Addresses, type Place } from '../places.ts';
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
 * per owner of one lock, they are the chain of delete, event, list and the next delete. Over delayed links the list is
 * left out, because a waiter can list before its turn comes: the limit is the chain of delete, event and the next delete.
 */
export class Raw implements Peer {
  readonly #addresses: Addresses;
  readonly #clients = new Map<Place, Client[]>();

  constructor(addresses: Addresses) {
    this.#addresses = addresses;
  }

  async run(scenario: Scenario, durationMs: number): Promise<Outcome> {
    const clients = await this.#open(scenario);
    const parent = `/bench/raw-${scenario.name}`;
    await made(nth(clients, 0), '/bench');
    await made(nth(clients, 0), parent);
    return scenario.sessions > 1
      ? chain(clients, scenario, parent, durationMs)
      : pairs(nth(clients, 0), scenario, parent, durationMs);
  }

  close(): Promise<void> {
    for (const client of [...this.#clients.values()].flat()) client.close();
    return Promise.resolve();
  }

  async #open({ place = 'loopback', sessions }: Scenario): Promise<readonly Client[]> {
    const open = this.#clients.get(place) ?? [];
    this.#clients.set(place, open);
    while (open.length < sessions) open.push(await connected(addressOf(this.#addresses, place, open.length)));
    return open;
  }
}

function pairs(client: Client, scenario: Scenario, parent: string, durationMs: number): Promise<Outcome> {
  return timed(scenario, durationMs, async (owner) => {
    const path = await create(client, `${parent}/${owner}-lock-`);
    await remove(client, path);
  });
}

/** The znodes exist before the clock starts, each with a watch on the one before it. */
async function chain(
  clients: readonly Client[],
  { sessions, place = 'loopback' }: Scenario,
  parent: string,
  durationMs: number,
): Promise<Outcome> {
  const delayMs = place in delaysMs ? delaysMs[place as keyof typeof delaysMs] : 0;
  const count = Math.max(2, Math.ceil((durationMs / 1_000) * hopsPerSecond(delayMs)));
  const hops: Hop[] = [];
  for (let index = 0; index < count; index += 1) {
    const client = nth(clients, index % sessions);
    const path = await create(client, `${parent}/lock-`);
    const before = hops.at(-1);
    hops.push({ client, path, ready: before && gone(client, before.path) });
  }
  // One connection answers in order, so every watch is planted after this.
  await Promise.all(clients.map((client) => children(client, parent)));
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  for (const { client, path, ready } of hops) {
    await ready;
    if (delayMs === 0) await children(client, parent);
    const removed = remove(client, path);
    // The next client learns of the deletion by its watch event, as a waiter in another process does.
    removed.catch(() => undefined);
  }
  const { user, system } = process.cpuUsage(cpu);
  const tookMs = performance.now() - startedAt;
  await children(nth(clients, (count - 1) % sessions), parent); // the last deletion is done when the list arrives
  return { cycles: hops.length, tookMs, cpuMs: (user + system) / 1_000 };
}

function nth<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`no item ${index}`);
  return item;
}

interface Hop {
  readonly client: Client;
  readonly path: string;
  /** Settles when this znode is first. */
  readonly ready: Promise<void> | undefined;
}

/** The number of znodes is chosen so that the chain lasts about as long as the other runs. */
function hopsPerSecond(delayMs: number): number {
  return 1_000 / (2 + 2 * delayMs);
}

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
