import { InterProcessSemaphore, LockClient, type Hold } from '../../../src/index.ts';
import type { Operation } from '../../../src/client/operations.ts';
import { sharedZooKeeper } from '../../support/hooks.ts';
import { stranger, type Stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { until } from '../../support/until.ts';

/** One semaphore's path, two clients, and the view from outside. */
export interface SemaphoreOfTest {
  readonly path: string;
  readonly client: LockClient;
  readonly other: LockClient;
  readonly outside: Stranger;
}

/** Each test of the suite finds a fresh path in the object that this returns, and clients of its own, which are closed after it. */
export function semaphoreOfEachTest(name: string): SemaphoreOfTest {
  const test = {} as { -readonly [Key in keyof SemaphoreOfTest]: SemaphoreOfTest[Key] };

  before(() => sharedZooKeeper());

  beforeEach(async () => {
    const { connectString } = await sharedZooKeeper();
    test.path = testPath(name);
    [test.client, test.other, test.outside] = await Promise.all([LockClient.connect(connectString), LockClient.connect(connectString), stranger(connectString)]);
  });

  afterEach(() => Promise.all([test.client.close(), test.other.close(), test.outside[Symbol.asyncDispose]()]));

  return test;
}

/** Resolves when as many are in the leases' folder and in the line of the mutex. */
export function crowd(outside: Stranger, path: string, { leases, locks }: { leases: number; locks: number }): Promise<void> {
  return until(`${leases} leases and ${locks} in line at ${path}`, async () => {
    const [atLeases, atLocks] = await Promise.all([outside.children(`${path}/leases`), outside.children(`${path}/locks`)]);
    return atLeases.length === leases && atLocks.length === locks;
  });
}

export function waits(outside: Stranger, path: string, leases: number): Promise<void> {
  return crowd(outside, path, { leases, locks: 1 });
}

export function isEmpty(outside: Stranger, path: string): Promise<void> {
  return crowd(outside, path, { leases: 0, locks: 0 });
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
