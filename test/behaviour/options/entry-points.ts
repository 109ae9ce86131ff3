import { metrics, trace } from '@opentelemetry/api';
import {
  exponentialBackoff,
  forceRelease,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  LockClient,
  type GuardedTransaction,
  revoke,
  watchQueue,
} from '../../../src/index.ts';
import { instrument } from '../../../packages/opentelemetry/src/index.ts';
import { testPath } from '../../../lab/test-path.ts';

export interface Tools {
  readonly client: LockClient;
  readonly connectString: string;
}

/** A method or function that takes options. */
export interface EntryPoint {
  /** The name in the API report. */
  readonly name: string;
  /** The name of its options in the error. */
  readonly what: string;
  /** All options; each of them has an effect. */
  readonly options: () => object;
  /**
   * Makes the call, and disposes of its result. It calls at once, unless the call needs something that must exist
   * before.
   */
  readonly call: (tools: Tools, options: never, called: () => void) => unknown;
  /** True if the call accepts a signal. */
  readonly takesSignal: boolean;
}

const waiting = (): object => ({ timeoutMs: 10_000, signal: new AbortController().signal });
const acquiring = (): object => ({
  ...waiting(),
  leaseMs: 60_000,
  renewEveryMs: 30_000,
  releaseTimeoutMs: 5_000,
  data: Buffer.from('worker 7'),
});

interface Held {
  release(): Promise<unknown>;
}

/** The methods acquire, tryAcquire and withLock of a lock. */
function lockCalls(
  name: string,
  create: (tools: Tools) => {
    acquire(options: object): Promise<Held>;
    tryAcquire(options: object): Promise<Held | undefined>;
    withLock(job: () => undefined, options: object): Promise<unknown>;
  },
  options = acquiring,
): EntryPoint[] {
  const entry = (
    method: string,
    act: (lock: ReturnType<typeof create>, options: object) => Promise<unknown>,
  ): EntryPoint => ({
    name: `${name}.${method}`,
    what: method,
    options,
    takesSignal: true,
    async call(tools, given: object, called) {
      const acted = act(create(tools), given);
      called();
      await acted;
    },
  });
  return [
    entry('acquire', async (lock, given) => (await lock.acquire(given)).release()),
    entry('tryAcquire', async (lock, given) => (await lock.tryAcquire(given))?.release()),
    entry('withLock', (lock, given) => lock.withLock(() => undefined, given)),
  ];
}

/** The methods of a lock that ask the servers and acquire nothing. */
function queries<Lock>(
  name: string,
  create: (tools: Tools) => Lock,
  ...methods: readonly (keyof Lock & string)[]
): EntryPoint[] {
  return methods.map((method) => ({
    name: `${name}.${method}`,
    what: method,
    options: waiting,
    takesSignal: true,
    async call(tools, given: object, called) {
      const lock = create(tools);
      const asked = (lock[method] as (options: object) => Promise<unknown>).call(lock, given);
      called();
      await asked;
    },
  }));
}

/** A method of a transaction that takes options. */
function transactionCall(
  method: string,
  options: () => object,
  add: (transaction: GuardedTransaction, path: string, options: never) => unknown,
): EntryPoint {
  return {
    name: `GuardedTransaction.${method}`,
    what: method,
    options,
    takesSignal: false,
    async call({ client }, given, called) {
      await using hold = await new InterProcessMutex(client, testPath('of-options')).acquire();
      add(hold.transaction(), testPath('of-options'), given);
      called();
    },
  };
}

const ofVersion = (): object => ({ version: 0 });

export const entryPoints: readonly EntryPoint[] = [
  {
    name: 'LockClient.connect',
    what: 'LockClient.connect',
    options: () => ({
      sessionTimeoutMs: 10_000,
      connectionTimeoutMs: 10_000,
      retryPolicy: exponentialBackoff({ baseSleepMs: 1 }),
      tickTimeMs: 500,
      auth: [{ scheme: 'digest', credentials: 'user:secret' }],
      tls: undefined,
      sasl: undefined,
      acl: [{ permissions: 31, scheme: 'world', id: 'anyone' }],
      signal: new AbortController().signal,
      logger: { warn: () => undefined },
      debug: true,
    }),
    takesSignal: true,
    async call({ connectString }, options, called) {
      const connecting = LockClient.connect(connectString, options);
      called();
      await using client = await connecting;
      await new InterProcessMutex(client, testPath('of-options')).withLock(() => undefined);
    },
  },
  {
    name: 'LockClient.create',
    what: 'LockClient.create',
    options: () => ({
      sessionTimeoutMs: 10_000,
      retryPolicy: exponentialBackoff({ baseSleepMs: 1 }),
      tickTimeMs: 500,
      auth: [{ scheme: 'digest', credentials: 'user:secret' }],
      tls: undefined,
      sasl: undefined,
      acl: [{ permissions: 31, scheme: 'world', id: 'anyone' }],
      logger: { warn: () => undefined },
      debug: true,
    }),
    takesSignal: false,
    async call({ connectString }, options, called) {
      await using client = LockClient.create(connectString, options);
      called();
      await new InterProcessMutex(client, testPath('of-options')).withLock(() => undefined);
    },
  },
  {
    name: 'LockClient.close',
    what: 'close',
    options: () => ({ timeoutMs: 5_000 }),
    takesSignal: false,
    async call({ connectString }, options, called) {
      await using client = await LockClient.connect(connectString);
      const closing = client.close(options);
      called();
      await closing;
    },
  },
  {
    name: 'instrument',
    what: 'instrument',
    options: () => ({
      meterProvider: metrics.getMeterProvider(),
      tracerProvider: trace.getTracerProvider(),
      lockName: (path: string) => path,
    }),
    takesSignal: false,
    async call(_lab, options, called) {
      const stop = instrument(options);
      called();
      stop();
    },
  },
  {
    name: 'InterProcessMutex.constructor',
    what: 'InterProcessMutex',
    options: () => ({ foreignNodes: 'reject', driver: undefined, sticky: { idleMs: 0 }, weights: undefined }),
    takesSignal: false,
    async call({ client }, options, called) {
      const mutex = new InterProcessMutex(client, testPath('of-options'), options);
      called();
      await mutex.withLock(() => undefined);
    },
  },
  {
    name: 'InterProcessMutex.constructor',
    what: 'sticky',
    options: () => ({ idleMs: 0 }),
    takesSignal: false,
    async call({ client }, sticky, called) {
      const mutex = new InterProcessMutex(client, testPath('of-options'), { sticky });
      called();
      await mutex.withLock(() => undefined);
    },
  },
  {
    name: 'InterProcessMutex.constructor',
    what: 'weights',
    options: () => ({ overtakesPerWeight: 3 }),
    takesSignal: false,
    async call({ client }, weights, called) {
      const mutex = new InterProcessMutex(client, testPath('of-options'), { weights });
      called();
      await mutex.withLock(() => undefined);
    },
  },
  ...lockCalls('InterProcessMutex', ({ client }) => new InterProcessMutex(client, testPath('of-options'))),
  ...lockCalls(
    'InterProcessMutex',
    ({ client }) => new InterProcessMutex(client, testPath('of-options'), { weights: {} }),
    () => ({ ...acquiring(), weight: 3 }),
  ),
  {
    name: 'InterProcessReadWriteLock.constructor',
    what: 'InterProcessReadWriteLock',
    options: () => ({ data: Buffer.from('worker 7'), foreignNodes: 'reject' }),
    takesSignal: false,
    async call({ client }, options, called) {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, testPath('of-options'), options);
      called();
      await readLock.withLock(() => undefined);
      await writeLock.withLock(() => undefined);
    },
  },
  {
    name: 'InterProcessSemaphore.constructor',
    what: 'InterProcessSemaphore',
    options: () => ({ maxLeases: 2, sharedCount: undefined }),
    takesSignal: false,
    async call({ client }, options, called) {
      const semaphore = new InterProcessSemaphore(client, testPath('of-options'), options);
      called();
      await (await semaphore.acquire()).release();
    },
  },
  ...lockCalls(
    'InterProcessSemaphore',
    ({ client }) => new InterProcessSemaphore(client, testPath('of-options'), { maxLeases: 2 }),
  ),
  {
    name: 'InterProcessSemaphore.acquireMany',
    what: 'acquireMany',
    options: acquiring,
    takesSignal: true,
    async call({ client }, options, called) {
      const acquired = new InterProcessSemaphore(client, testPath('of-options'), { maxLeases: 2 }).acquireMany(
        2,
        options,
      );
      called();
      await Promise.all((await acquired).map((lease) => lease.release()));
    },
  },
  ...lockCalls(
    'InterProcessSemaphoreMutex',
    ({ client }) => new InterProcessSemaphoreMutex(client, testPath('of-options')),
  ),
  ...lockCalls(
    'InterProcessMultiLock',
    ({ client }) =>
      new InterProcessMultiLock([
        new InterProcessMutex(client, testPath('of-options')),
        new InterProcessMutex(client, testPath('of-options')),
      ]),
  ),
  ...queries(
    'InterProcessMutex',
    ({ client }) => new InterProcessMutex(client, testPath('of-options')),
    'participants',
    'holder',
    'isLocked',
  ),
  ...queries(
    'InterProcessSemaphore',
    ({ client }) => new InterProcessSemaphore(client, testPath('of-options'), { maxLeases: 2 }),
    'participants',
    'holders',
  ),
  ...queries(
    'InterProcessSemaphoreMutex',
    ({ client }) => new InterProcessSemaphoreMutex(client, testPath('of-options')),
    'participants',
    'holder',
    'isLocked',
  ),
  {
    name: 'PathLocks.lock',
    what: 'acquire',
    options: acquiring,
    takesSignal: true,
    async call({ client }, options, called) {
      const acquired = client.lock(testPath('of-options'), options);
      called();
      await (await acquired).release();
    },
  },
  {
    name: 'PathLocks.withLock',
    what: 'withLock',
    options: acquiring,
    takesSignal: true,
    async call({ client }, options, called) {
      const done = client.withLock(testPath('of-options'), () => undefined, options);
      called();
      await done;
    },
  },
  {
    name: 'PathLocks.lock',
    what: 'acquire',
    options: acquiring,
    takesSignal: true,
    async call({ client }, options, called) {
      const acquired = client.lock([testPath('of-options')], options);
      called();
      await (await acquired).release();
    },
  },
  {
    name: 'PathLocks.withLock',
    what: 'withLock',
    options: acquiring,
    takesSignal: true,
    async call({ client }, options, called) {
      const done = client.withLock([testPath('of-options')], () => undefined, options);
      called();
      await done;
    },
  },
  {
    name: 'revoke',
    what: 'revoke',
    options: waiting,
    takesSignal: true,
    async call({ client }, options, called) {
      await using hold = await new InterProcessMutex(client, testPath('of-options')).acquire();
      const revoked = revoke(client, hold.path, options);
      called();
      await revoked;
    },
  },
  {
    name: 'forceRelease',
    what: 'forceRelease',
    options: waiting,
    takesSignal: true,
    async call({ client }, options, called) {
      const hold = await new InterProcessMutex(client, testPath('of-options')).acquire();
      hold.signal.addEventListener('abort', () => void hold.release());
      try {
        const forced = forceRelease(client, hold.path, options);
        called();
        await forced;
      } finally {
        await hold.release();
      }
    },
  },
  {
    name: 'watchQueue',
    what: 'watchQueue',
    options: () => ({ signal: new AbortController().signal }),
    takesSignal: true,
    async call({ client }, options, called) {
      const queues = watchQueue(client, testPath('of-options'), options);
      called();
      await queues.next();
      await queues.return();
    },
  },
  {
    name: 'LeaderElection.constructor',
    what: 'LeaderElection',
    options: () => ({ id: 'host-7', protocol: 'selector' }),
    takesSignal: false,
    async call({ client }, options, called) {
      const election = new LeaderElection(client, testPath('of-options'), options);
      called();
      await election.lead(() => undefined);
    },
  },
  {
    name: 'LeaderElection.campaign',
    what: 'campaign',
    options: () => ({ ...waiting(), leaseMs: 60_000, renewEveryMs: 30_000, releaseTimeoutMs: 5_000 }),
    takesSignal: true,
    async call({ client }, options, called) {
      const campaigning = new LeaderElection(client, testPath('of-options')).campaign(options);
      called();
      await (await campaigning).release();
    },
  },
  {
    name: 'LeaderElection.lead',
    what: 'lead',
    options: () => ({ ...waiting(), leaseMs: 60_000, renewEveryMs: 30_000, releaseTimeoutMs: 5_000, requeue: false }),
    takesSignal: true,
    async call({ client }, options, called) {
      const leading = new LeaderElection(client, testPath('of-options')).lead(() => undefined, options);
      called();
      await leading;
    },
  },
  ...queries(
    'LeaderElection',
    ({ client }) => new LeaderElection(client, testPath('of-options')),
    'leader',
    'participants',
  ),
  {
    name: 'LeaderElection.observe',
    what: 'observe',
    options: () => ({ signal: new AbortController().signal }),
    takesSignal: true,
    async call({ client }, options, called) {
      const leaders = new LeaderElection(client, testPath('of-options')).observe(options);
      called();
      await leaders.next();
      await leaders.return();
    },
  },
  transactionCall(
    'create',
    () => ({ mode: 'ephemeral', acl: [{ permissions: 31, scheme: 'world', id: 'anyone' }] }),
    (transaction, path, options) => transaction.create(path, Buffer.from('x'), options),
  ),
  transactionCall('setData', ofVersion, (transaction, path, options) =>
    transaction.setData(path, Buffer.from('x'), options),
  ),
  transactionCall('delete', ofVersion, (transaction, path, options) => transaction.delete(path, options)),
  transactionCall('check', ofVersion, (transaction, path, options) => transaction.check(path, options)),
  {
    name: 'exponentialBackoff',
    what: 'exponentialBackoff',
    options: () => ({ baseSleepMs: 1, maxSleepMs: 5, maxRetries: 3 }),
    takesSignal: false,
    call(_tools, options, called) {
      const policy = exponentialBackoff(options);
      called();
      policy.allowRetry({ retryCount: 0, elapsedMs: 0, random: Math.random });
    },
  },
];
