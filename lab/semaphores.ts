import { InterProcessSemaphore, type Hold, type LockClient } from '../src/index.ts';
import type { Operation } from '../src/zookeeper/wire/operations.ts';
import type { Observer } from './wire/observer.ts';
import { until } from './until.ts';

/** Resolves when the semaphore has this number of leases, and its inner mutex this number of znodes. */
export function crowd(
  observer: Observer,
  path: string,
  { leases, locks }: { leases: number; locks: number },
): Promise<void> {
  return until(`${leases} leases and ${locks} znodes of the inner mutex at ${path}`, async () => {
    const [atLeases, atLocks] = await Promise.all([
      observer.children(`${path}/leases`),
      observer.children(`${path}/locks`),
    ]);
    return atLeases.length === leases && atLocks.length === locks;
  });
}

export function waits(observer: Observer, path: string, leases: number): Promise<void> {
  return crowd(observer, path, { leases, locks: 1 });
}

export function isEmpty(observer: Observer, path: string): Promise<void> {
  return crowd(observer, path, { leases: 0, locks: 0 });
}

export function returnAll(leases: readonly (Hold | undefined)[]): Promise<unknown> {
  return Promise.all(leases.map(async (lease) => lease?.release()));
}

export function semaphoreOf(client: LockClient, path: string, maxLeases: number): InterProcessSemaphore {
  return new InterProcessSemaphore(client, path, { maxLeases });
}

/** Writes the znode of a Curator SharedCount. */
export function setCount(client: LockClient, path: string, count: number): Promise<unknown> {
  const value = Buffer.alloc(4);
  value.writeInt32BE(count);
  return setData(client, path, value);
}

export function setData(client: LockClient, path: string, data: Uint8Array): Promise<unknown> {
  const operation: Operation<void> = {
    name: 'setData',
    opcode: 5,
    kind: 'write',
    path,
    write: (to) => void to.text(path).bytes(data).int(-1),
    read: () => undefined,
  };
  return client.session.request(operation);
}
