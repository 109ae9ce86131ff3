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

/** Makes the call, and disposes of its result. It calls at once, unless the call needs something that must exist before. */
type Call = (tools: Tools, options: never, called: () => void) => unknown;

/** A method or function that takes options. */
export interface EntryPoint {
  /** The name in the API report. */
  readonly name: string;
  /** The name of its options in the error. */
  readonly what: string;
  /** All options; each of them has an effect. */
  readonly options: () => object;
  readonly call: Call;
}

const waiting = (): object => ({ timeoutMs: 10_000, signal: new AbortController().signal });
const campaigning = (): object => ({ ...waiting(), leaseMs: 60_000, renewEveryMs: 30_000, releaseTimeoutMs: 5_000 });
const acquiring = (): object => ({ ...campaigning(), data: Buffer.from('worker 7') });
const watching = (): object => ({ signal: new AbortController().signal });
const ofVersion = (): object => ({ version: 0 });
const creating = (): object => ({
  sessionTimeoutMs: 10_000,
  retryPolicy: exponentialBackoff({ baseSleepMs: 1 }),
  tickTimeMs: 500,
  auth: [{ scheme: 'digest', credentials: 'user:secret' }],
  tls: undefined,
  sasl: undefined,
  acl: [{ permissions: 31, scheme: 'world', id: 'anyone' }],
  logger: { warn: () => undefined },
  debug: true,
});

const newPath = (): string => testPath('of-options');
const nothing = (): undefined => undefined;

const mutexOf = ({ client }: Tools): InterProcessMutex => new InterProcessMutex(client, newPath());
const semaphoreOf = ({ client }: Tools): InterProcessSemaphore =>
  new InterProcessSemaphore(client, newPath(), { maxLeases: 2 });
const semaphoreMutexOf = ({ client }: Tools): InterProcessSemaphoreMutex =>
  new InterProcessSemaphoreMutex(client, newPath());
const electionOf = ({ client }: Tools): LeaderElection => new LeaderElection(client, newPath());

interface Held {
  release(): Promise<unknown>;
}

function entry(name: string, what: string, options: () => object, call: Call): EntryPoint {
  return { name, what, options, call };
}

/** A call that returns a promise. What it acquires is released. */
function promised(
  name: string,
  what: string,
  options: () => object,
  act: (tools: Tools, options: never) => Promise<unknown>,
): EntryPoint {
  return entry(name, what, options, async (tools, given, called) => {
    const acted = act(tools, given);
    called();
    for (const result of [await acted].flat() as (Partial<Held> | undefined)[]) await result?.release?.();
  });
}

/** A constructor. The object is used, so that each option has an effect. */
function constructed<Made>(
  name: string,
  what: string,
  options: () => object,
  construct: (client: LockClient, options: never) => Made,
  use: (made: Made) => Promise<unknown>,
): EntryPoint {
  return entry(name, what, options, async ({ client }, given, called) => {
    const made = construct(client, given);
    called();
    await use(made);
  });
}

/** A call that returns an iterator. */
function iterated(
  name: string,
  what: string,
  begin: (client: LockClient, options: never) => AsyncGenerator,
): EntryPoint {
  return constructed(name, what, watching, begin, async (values) => {
    await values.next();
    await values.return(undefined);
  });
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
  return [
    promised(`${name}.acquire`, 'acquire', options, (tools, given) => create(tools).acquire(given)),
    promised(`${name}.tryAcquire`, 'tryAcquire', options, (tools, given) => create(tools).tryAcquire(given)),
    promised(`${name}.withLock`, 'withLock', options, (tools, given) => create(tools).withLock(nothing, given)),
  ];
}

/** The methods of a lock that ask the servers and acquire nothing. */
function queries<Lock>(
  name: string,
  create: (tools: Tools) => Lock,
  ...methods: readonly (keyof Lock & string)[]
): EntryPoint[] {
  return methods.map((method) =>
    promised(`${name}.${method}`, method, waiting, (tools, given: object) => {
      const lock = create(tools);
      return (lock[method] as (options: object) => Promise<unknown>).call(lock, given);
    }),
  );
}

/** A method of a transaction that takes options. */
function transactionCall(
  method: string,
  options: () => object,
  add: (transaction: GuardedTransaction, path: string, options: never) => unknown,
): EntryPoint {
  return entry(`GuardedTransaction.${method}`, method, options, async (tools, given, called) => {
    await using hold = await mutexOf(tools).acquire();
    add(hold.transaction(), newPath(), given);
    called();
  });
}

export const entryPoints: readonly EntryPoint[] = [
  entry(
    'LockClient.connect',
    'LockClient.connect',
    () => ({ ...creating(), ...watching(), connectionTimeoutMs: 10_000 }),
    async ({ connectString }, options, called) => {
      const connecting = LockClient.connect(connectString, options);
      called();
      await using client = await connecting;
      await new InterProcessMutex(client, newPath()).withLock(nothing);
    },
  ),
  entry('LockClient.create', 'LockClient.create', creating, async ({ connectString }, options, called) => {
    await using client = LockClient.create(connectString, options);
    called();
    await new InterProcessMutex(client, newPath()).withLock(nothing);
  }),
  entry(
    'LockClient.close',
    'close',
    () => ({ timeoutMs: 5_000 }),
    async ({ connectString }, options, called) => {
      await using client = await LockClient.connect(connectString);
      const closing = client.close(options);
      called();
      await closing;
    },
  ),
  entry(
    'instrument',
    'instrument',
    () => ({
      meterProvider: metrics.getMeterProvider(),
      tracerProvider: trace.getTracerProvider(),
      lockName: (path: string) => path,
    }),
    (_tools, options, called) => {
      const stop = instrument(options);
      called();
      stop();
    },
  ),
  constructed(
    'InterProcessMutex.constructor',
    'InterProcessMutex',
    () => ({ foreignNodes: 'reject', driver: undefined, sticky: { idleMs: 0 }, weights: undefined }),
    (client, options) => new InterProcessMutex(client, newPath(), options),
    (mutex) => mutex.withLock(nothing),
  ),
  constructed(
    'InterProcessMutex.constructor',
    'sticky',
    () => ({ idleMs: 0 }),
    (client, sticky) => new InterProcessMutex(client, newPath(), { sticky }),
    (mutex) => mutex.withLock(nothing),
  ),
  constructed(
    'InterProcessMutex.constructor',
    'weights',
    () => ({ overtakesPerWeight: 3 }),
    (client, weights) => new InterProcessMutex(client, newPath(), { weights }),
    (mutex) => mutex.withLock(nothing),
  ),
  ...lockCalls('InterProcessMutex', mutexOf),
  ...lockCalls(
    'InterProcessMutex',
    ({ client }) => new InterProcessMutex(client, newPath(), { weights: {} }),
    () => ({ ...acquiring(), weight: 3 }),
  ),
  constructed(
    'InterProcessReadWriteLock.constructor',
    'InterProcessReadWriteLock',
    () => ({ data: Buffer.from('worker 7'), foreignNodes: 'reject' }),
    (client, options) => new InterProcessReadWriteLock(client, newPath(), options),
    async ({ readLock, writeLock }) => {
      await readLock.withLock(nothing);
      await writeLock.withLock(nothing);
    },
  ),
  constructed(
    'InterProcessSemaphore.constructor',
    'InterProcessSemaphore',
    () => ({ maxLeases: 2, sharedCount: undefined }),
    (client, options) => new InterProcessSemaphore(client, newPath(), options),
    async (semaphore) => (await semaphore.acquire()).release(),
  ),
  ...lockCalls('InterProcessSemaphore', semaphoreOf),
  promised('InterProcessSemaphore.acquireMany', 'acquireMany', acquiring, (tools, options) =>
    semaphoreOf(tools).acquireMany(2, options),
  ),
  ...lockCalls('InterProcessSemaphoreMutex', semaphoreMutexOf),
  ...lockCalls('InterProcessMultiLock', (tools) => new InterProcessMultiLock([mutexOf(tools), mutexOf(tools)])),
  ...queries('InterProcessMutex', mutexOf, 'participants', 'holder', 'isLocked'),
  ...queries('InterProcessSemaphore', semaphoreOf, 'participants', 'holders'),
  ...queries('InterProcessSemaphoreMutex', semaphoreMutexOf, 'participants', 'holder', 'isLocked'),
  // One path, and then several. The type picks one of two overloads.
  ...[newPath, () => [newPath()] as const].flatMap((paths) => [
    promised('PathLocks.lock', 'acquire', acquiring, ({ client }, options) => client.lock(paths() as string, options)),
    promised('PathLocks.withLock', 'withLock', acquiring, ({ client }, options) =>
      client.withLock(paths() as string, nothing, options),
    ),
  ]),
  entry('revoke', 'revoke', waiting, async (tools, options, called) => {
    await using hold = await mutexOf(tools).acquire();
    const revoked = revoke(tools.client, hold.path, options);
    called();
    await revoked;
  }),
  entry('forceRelease', 'forceRelease', waiting, async (tools, options, called) => {
    await using hold = await mutexOf(tools).acquire();
    hold.signal.addEventListener('abort', () => void hold.release());
    const forced = forceRelease(tools.client, hold.path, options);
    called();
    await forced;
  }),
  iterated('watchQueue', 'watchQueue', (client, options) => watchQueue(client, newPath(), options)),
  constructed(
    'LeaderElection.constructor',
    'LeaderElection',
    () => ({ id: 'host-7', protocol: 'selector' }),
    (client, options) => new LeaderElection(client, newPath(), options),
    (election) => election.lead(nothing),
  ),
  promised('LeaderElection.campaign', 'campaign', campaigning, (tools, options) => electionOf(tools).campaign(options)),
  promised(
    'LeaderElection.lead',
    'lead',
    () => ({ ...campaigning(), requeue: false }),
    (tools, options) => electionOf(tools).lead(nothing, options),
  ),
  ...queries('LeaderElection', electionOf, 'leader', 'participants'),
  iterated('LeaderElection.observe', 'observe', (client, options) =>
    new LeaderElection(client, newPath()).observe(options),
  ),
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
  entry(
    'exponentialBackoff',
    'exponentialBackoff',
    () => ({ baseSleepMs: 1, maxSleepMs: 5, maxRetries: 3 }),
    (_tools, options, called) => {
      const policy = exponentialBackoff(options);
      called();
      policy.allowRetry({ retryCount: 0, elapsedMs: 0, random: Math.random });
    },
  ),
];
