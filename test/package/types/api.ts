import {
  Emitter,
  GuardedTransaction,
  Hold,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  InterProcessReadWriteLock,
  LeaseLock,
  LockClient,
  LockError,
  LockLostError,
  LockTimeoutError,
  MultiHold,
  exponentialBackoff,
  forceRelease,
  lockContext,
  lockKey,
  watchQueue,
  revoke,
  type ConnectionState,
  type LockDriver,
  type LockErrorCode,
  type LockOwner,
  type LossReason,
  type Participant,
  type ReleaseOutcome,
  type RetryPolicy,
} from '../../../src/index.ts';

// None of this code runs. If it compiles, the public types are unchanged. test/package/types.test.ts also compiles it
// against the package.

type IsAny<T> = 0 extends 1 & T ? true : false;
type Same<A, B> = [A, B, IsAny<A>] extends [B, A, IsAny<B>] ? true : false;

/** `type<Expected>().of(value)` compiles only if `Expected` is exactly the type of `value`. */
declare function type<Expected>(): {
  of<Actual>(value: Actual & (Same<Expected, Actual> extends true ? unknown : never)): void;
};

declare const client: LockClient;
declare const mutex: InterProcessMutex;
declare const hold: Hold;
declare const driver: LockDriver;
declare const signal: AbortSignal;

export async function acquiring(): Promise<void> {
  type<Promise<Hold>>().of(mutex.acquire());
  type<Promise<Hold>>().of(mutex.acquire({ timeoutMs: 500, signal }));
  type<Promise<Hold | undefined>>().of(mutex.tryAcquire());
  type<Promise<Hold | undefined>>().of(mutex.tryAcquire(500));

  // An optional value can be passed on as it is, also with exactOptionalPropertyTypes.
  const timeoutMs: number | undefined = Number(process.env['TIMEOUT_MS']) || undefined;
  await mutex.acquire({ timeoutMs, signal: undefined });

  // @ts-expect-error a typo would wait without a limit
  await mutex.acquire({ timeout: 500 });
  // @ts-expect-error a duration is a number of milliseconds
  await mutex.acquire({ timeoutMs: '500' });
  type<Promise<Hold | undefined>>().of(
    mutex.tryAcquire({ timeoutMs: 500, leaseMs: 1_000, renewEveryMs: 300, releaseTimeoutMs: 500, data: 'owner' }),
  );
  // @ts-expect-error a hold that may be undefined must be checked first
  (await mutex.tryAcquire()).fencingToken.toString();
}

export function working(): void {
  type<Promise<number>>().of(mutex.withLock(() => 1));
  type<Promise<number>>().of(mutex.withLock(() => Promise.resolve(1), { timeoutMs: 500, signal }));
  type<Promise<bigint>>().of(mutex.withLock((mine) => mine.fencingToken));
  type<Promise<string | undefined>>().of(mutex.withLock(async (mine) => (mine.isValid ? mine.path : undefined)));
  // @ts-expect-error a typo would wait without a limit
  void mutex.withLock(() => 1, { timeout: 500 });
  // @ts-expect-error the job comes first
  void mutex.withLock({ timeoutMs: 500 }, () => 1);
}

export function withoutAnObject(): void {
  type<Promise<number>>().of(client.withLock('/a', () => 1));
  type<Promise<bigint>>().of(
    client.withLock('/a', async (mine) => mine.fencingToken, { timeoutMs: 500, signal, leaseMs: 1_000 }),
  );
  type<Promise<MultiHold<Hold>>>().of(client.lock(['/a', '/b'], { timeoutMs: 500 }));
  type<Promise<readonly bigint[]>>().of(
    client.withLock(['/a', '/b'], ({ holds }): readonly bigint[] => holds.map((each) => each.fencingToken), { signal }),
  );
  // @ts-expect-error the path comes first
  void client.withLock(() => 1, '/a');
  // @ts-expect-error a weight needs a mutex with weights
  void client.withLock('/a', () => 1, { weight: 3 });
}

export function listening(): void {
  client.on('lock', (event) => {
    type<string>().of(event.path);
    if (event.type === 'acquired') type<number>().of(event.waitedMs);
    if (event.type === 'lost') type<bigint>().of(event.fencingToken);
    if (event.type === 'timed-out') type<LockTimeoutError>().of(event.error);
    if (event.type === 'expired') type<LockLostError>().of(event.error);
  });
  // @ts-expect-error there is no such event
  client.on('locks', () => undefined);
}

export function holding(): void {
  type<bigint>().of(hold.fencingToken);
  type<bigint>().of(hold.grantNumber);
  type<string>().of(hold.path);
  type<boolean>().of(hold.isValid);
  type<AbortSignal>().of(hold.signal);
  type<number>().of(hold.remainingMs);
  type<boolean>().of(hold.isReentrant);
  type<LockOwner>().of(hold.owner);
  type<(leaseMs: number) => void>().of(hold.renew.bind(hold));
  type<number>().of(mutex.holdCount);
  type<Promise<boolean>>().of(mutex.isLocked());
  type<Promise<Participant | undefined>>().of(mutex.holder());
  type<string>().of(lockKey('orders', '42'));
  mutex.on('expired', (event) => {
    type<Hold>().of(event.hold);
    type<LossReason>().of(event.error.reason);
  });
  // @ts-expect-error a lease is a number of milliseconds
  void mutex.acquire({ leaseMs: '1 min' });
  type<() => void>().of(hold.assertValid.bind(hold));
  type<Promise<ReleaseOutcome>>().of(hold.release());
  type<Promise<ReleaseOutcome>>().of(mutex.release());
  type<Same<ReleaseOutcome, 'released' | 'lost'>>().of(true);
  // @ts-expect-error a token is read-only
  hold.fencingToken = 8n;
  // @ts-expect-error bigint: as a number it would be rounded beyond 2^53
  type<number>().of(hold.fencingToken);
}

export async function disposing(): Promise<void> {
  await using connected = await LockClient.connect('127.0.0.1:2181');
  await using certain = await new InterProcessMutex(connected, '/locks/a').acquire();
  await using perhaps = await mutex.tryAcquire();
  type<LockClient>().of(connected);
  type<Hold>().of(certain);
  type<Hold | undefined>().of(perhaps);
  // @ts-expect-error the release must be awaited
  using blocking = await mutex.acquire();
  type<Hold>().of(blocking);
}

export async function connecting(): Promise<void> {
  type<Promise<LockClient>>().of(LockClient.connect('127.0.0.1:2181'));
  await LockClient.connect('zk1,zk2/app', {
    sessionTimeoutMs: 30_000,
    connectionTimeoutMs: 15_000,
    retryPolicy: exponentialBackoff({ baseSleepMs: 100 }),
    auth: [{ scheme: 'digest', credentials: 'user:secret' }],
    acl: (path) => [{ permissions: path === '/' ? 1 : 31, scheme: 'world', id: 'anyone' }],
    signal,
    logger: console,
  });
  type<ConnectionState>().of(client.state);
  type<number>().of(client.sessionTimeoutMs);
  type<LockClient>().of(client.on('state', (state) => type<ConnectionState>().of(state)));
  type<Promise<void>>().of(client.close({ timeoutMs: 100 }));
  // @ts-expect-error a typo would use the default
  await LockClient.connect('zk1', { sessionTimeout: 30_000 });
  // @ts-expect-error there is only the event `state`
  client.on('states', () => undefined);
  // @ts-expect-error the constructor cannot be called, because it would not connect
  new LockClient('zk1');
}

export async function asking(): Promise<void> {
  type<Promise<Participant[]>>().of(mutex.participants());
  type<string>().of(mutex.path);
  type<boolean>().of(mutex.isAcquiredInThisProcess);
  type<boolean>().of(mutex.isOwnedByCurrentContext);
  for (const { sequence, createdAt, data } of await mutex.participants()) {
    type<number>().of(sequence);
    type<Date>().of(createdAt);
    type<Buffer>().of(data);
  }
}

export async function severalAtOnce(): Promise<void> {
  const semaphore = new InterProcessSemaphore(client, '/a', { maxLeases: 3 });
  new InterProcessSemaphore(client, '/a', { sharedCount: '/count' });
  type<Promise<Hold>>().of(semaphore.acquire({ timeoutMs: 500, signal }));
  type<Promise<Hold[]>>().of(semaphore.acquireMany(2));
  type<Promise<Hold | undefined>>().of(semaphore.tryAcquire());
  // @ts-expect-error only one of both is allowed
  new InterProcessSemaphore(client, '/a', { maxLeases: 3, sharedCount: '/count' });
  // @ts-expect-error one of both is required
  new InterProcessSemaphore(client, '/a', {});

  const both = new InterProcessMultiLock([mutex, new InterProcessSemaphoreMutex(client, '/b')]);
  type<readonly Hold[]>().of((await both.acquire()).holds);
  type<Promise<number>>().of(both.withLock((multi) => multi.holds.length));

  for await (const queue of watchQueue(client, '/a', { signal })) {
    type<Participant | undefined>().of(queue.holder);
    type<readonly Participant[]>().of(queue.waiters);
  }
  mutex.on('queued', ({ position, path }) => {
    type<number>().of(position);
    type<string>().of(path);
  });
  // @ts-expect-error there is no such event
  mutex.on('queue', () => undefined);
}

export async function sharing(): Promise<void> {
  const rw = new InterProcessReadWriteLock(client, '/locks/a', { data: Buffer.from('me'), foreignNodes: 'wait' });
  type<InterProcessMutex>().of(rw.readLock);
  type<InterProcessMutex>().of(rw.writeLock);
  // @ts-expect-error bytes are not text
  new InterProcessReadWriteLock(client, '/locks/a', { data: 'me' });
  mutex.makeRevocable((asked) => asked.release());
  type<Promise<void>>().of(revoke(client, hold.path));
  type<'released' | 'deleted'>().of(await forceRelease(client, hold.path, { timeoutMs: 500, signal }));
  // @ts-expect-error the state that two locks share is not public
  new InterProcessMutex(client, '/locks/a', {}, undefined);
}

export function owning(): void {
  type<Promise<number>>().of(lockContext.run(() => Promise.resolve(1)));
  type<number>().of(lockContext.run(() => 1));
  type<number>().of(lockContext.bind((text: string, radix: number) => parseInt(text, radix))('ff', 16));
  // @ts-expect-error a bound function takes its own parameters
  lockContext.bind((text: string) => text)(1);
}

export function failing(error: unknown): LossReason | undefined {
  if (error instanceof LockLostError) return error.reason;
  if (error instanceof LockError) {
    type<LockErrorCode>().of(error.code);
    // @ts-expect-error there is no such code
    return error.code === 'ERR_LOCK_TIMED_OUT' ? undefined : undefined;
  }
  return undefined;
}

export function extending(): void {
  new InterProcessMutex(client, '/locks/a', { driver, foreignNodes: 'wait' });
  const policy: RetryPolicy = {
    allowRetry: ({ retryCount }) => (retryCount < 3 ? { retry: true, sleepMs: 10 } : { retry: false }),
  };
  void LockClient.connect('zk1', { retryPolicy: policy });
  // @ts-expect-error there are only two values
  new InterProcessMutex(client, '/locks/a', { foreignNodes: 'ignore' });
  // @ts-expect-error a retry needs a delay
  void LockClient.connect('zk1', { retryPolicy: { allowRetry: () => ({ retry: true }) } });
}

export function constructing(): void {
  class Other extends Emitter<{ news: string }> {}
  class Semaphore extends LeaseLock {}
  // @ts-expect-error only the library constructs it
  new Other();
  // @ts-expect-error only the library constructs it
  new Semaphore();
  // @ts-expect-error only a lock makes holds
  new Hold();
  // @ts-expect-error only a lock makes holds
  new MultiHold();
  // @ts-expect-error only a hold makes transactions
  new GuardedTransaction();
}
