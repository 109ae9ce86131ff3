import { Readable } from 'node:stream';
import {
  exponentialBackoff,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockClient,
  lockContext,
  lockKey,
  retryForever,
  retryNTimes,
} from '../../../src/index.ts';
import { creatorOnly, digest, digestId, permission } from '../../../harness/account.ts';
import type { Answer, Mistake, Scene } from './mistake.ts';

const hosts = '127.0.0.1:1';

const connect = (options: unknown, connectString: unknown = hosts): Promise<LockClient> => LockClient.connect(connectString as string, options as never);

const mutexOf = ({ client, path }: Scene, options?: unknown): InterProcessMutex => new InterProcessMutex(client, path, options as never);

/** A value that is refused before anything is sent. */
function refused(done: string, act: (at: Scene) => unknown, is: 'TypeError' | 'RangeError' | 'InvalidPathError', thing: Answer['thing'], value: Answer['value'], todo: Answer['todo'], more: { trouble?: string; secret?: string } = {}): Mistake {
  const { trouble, ...secret } = more;
  const code = is === 'InvalidPathError' ? { code: 'ERR_LOCK_INVALID_PATH' } : {};
  return { done, act, answer: () => ({ is, thing, value, todo, ...code, ...secret }), ...(trouble !== undefined && { trouble }) };
}

const sessionTimeoutRule = '> 0 and at most 2147483647; servers grant from 2 to 20 times their tickTime, by default 4000 to 40000';
const connectStringRule = 'Expected `connectString` to be host[:port][,host[:port]…][/chroot]';
const aclRule = 'a non-empty array of { permissions: 1 to 31, scheme: string, id: string }';
const acquireOptions = 'a plain object with timeoutMs, signal, leaseMs, renewEveryMs, data, weight';

/** To connect. */
export const connecting: readonly Mistake[] = [
  refused('new LockClient()', () => Reflect.construct(LockClient, ['host:2181']) as unknown, 'TypeError', 'LockClient', 'cannot be constructed', "use `await LockClient.connect('host:2181', options)`"),
  refused('connect() without hosts', () => connect({}, null), 'TypeError', '`connectString`', 'got null', connectStringRule),
  refused('connect() with an object', () => connect({}, { hosts: ['zk1'] }), 'TypeError', '`connectString`', 'got object', connectStringRule),
  refused('connect() with an empty text', () => connect({}, ''), 'TypeError', '`connectString`', 'got "": it names no host', connectStringRule),
  refused('connect() with a URL', () => connect({}, 'zk://zk1:2181'), 'TypeError', '`connectString`', 'got "zk://zk1:2181"', 'leave out the scheme'),
  refused('connect() with credentials before the host', () => connect({}, 'user:hunter2@zk1:2181'), 'TypeError', '`connectString`', 'got "***@zk1:2181"', 'credentials go into the `auth` option', { secret: 'hunter2' }),
  refused('connect() with a port that there is not', () => connect({}, 'zk1:99999'), 'TypeError', 'the port of "zk1:99999"', '99999', 'must be a whole number from 1 to 65535'),
  refused('connect() with a bare IPv6 address', () => connect({}, '::1'), 'TypeError', '`connectString`', '"::1" is an IPv6 address', 'needs brackets, as in [::1]:2181'),
  refused('connect() with a list that ends in a comma', () => connect({}, 'zk1:2181,'), 'TypeError', '`connectString`', 'got "zk1:2181,": it has an empty host', connectStringRule),
  refused('connect() with a chroot that ends in a slash', () => connect({}, 'zk1:2181/app/'), 'TypeError', 'Invalid path "/app/"', 'got "zk1:2181/app/"', 'Path must not end with / character'),
  refused('connect() with a misspelt option', () => connect({ sessionTimeout: 5_000 }), 'TypeError', 'LockClient.connect', 'Unknown option `sessionTimeout`', 'accepted are sessionTimeoutMs'),
  refused('connect() with its options in an instance', () => connect(new Map()), 'TypeError', '`LockClient.connect options`', 'got a Map', 'a plain object with sessionTimeoutMs'),
  refused('sessionTimeoutMs: -1', () => connect({ sessionTimeoutMs: -1 }), 'RangeError', '`sessionTimeoutMs`', 'got -1', sessionTimeoutRule, { trouble: 'sessionTimeoutMs' }),
  refused('sessionTimeoutMs: 0', () => connect({ sessionTimeoutMs: 0 }), 'RangeError', '`sessionTimeoutMs`', 'got 0', sessionTimeoutRule, { trouble: 'sessionTimeoutMs' }),
  refused('sessionTimeoutMs: 2 ** 31', () => connect({ sessionTimeoutMs: 2 ** 31 }), 'RangeError', '`sessionTimeoutMs`', 'got 2147483648', sessionTimeoutRule, { trouble: 'sessionTimeoutMs' }),
  refused('sessionTimeoutMs as a text', () => connect({ sessionTimeoutMs: '30s' }), 'TypeError', '`sessionTimeoutMs`', 'got "30s"', sessionTimeoutRule),
  refused('connectionTimeoutMs: -5', () => connect({ connectionTimeoutMs: -5 }), 'RangeError', '`connectionTimeoutMs`', 'got -5', 'a finite number of milliseconds ≥ 0'),
  refused('tickTimeMs: 0', () => connect({ tickTimeMs: 0 }), 'RangeError', '`tickTimeMs`', 'got 0', 'a finite number of milliseconds > 0'),
  refused('a number as retryPolicy', () => connect({ retryPolicy: 3 }), 'TypeError', '`retryPolicy`', 'got 3', 'an object with a method `allowRetry`'),
  refused('a function as logger', () => connect({ logger: console.log }), 'TypeError', '`logger`', 'got a function', 'an object with a method `warn`'),
  refused('a logger whose `error` is no function', () => connect({ logger: { warn: () => undefined, error: 5 } }), 'TypeError', '`logger.error`', 'got 5', 'a function, or not there'),
  refused('a number as signal', () => connect({ signal: 5 }), 'TypeError', '`signal`', 'got 5', 'an AbortSignal'),
];

const secret = 'open sesame';
const auth = [digest(`alice:${secret}`)];
const acl = (...entries: unknown[]): (() => Promise<LockClient>) => () => connect({ auth, acl: entries });

/** To say who one is, and who may do what. */
export const rights: readonly Mistake[] = [
  refused('digest credentials without a colon', () => connect({ auth: [{ scheme: 'digest', credentials: secret }] }), 'TypeError', 'the credentials of scheme \'digest\' in `auth`', 'got a text without a user name and a colon', "'user:password'", { secret }),
  refused('digest credentials without a user', () => connect({ auth: [{ scheme: 'digest', credentials: `:${secret}` }] }), 'TypeError', '`auth`', 'without a user name', "'user:password'", { secret, trouble: 'digest credentials without a colon' }),
  refused('auth as one object', () => connect({ auth: digest(`alice:${secret}`) }), 'TypeError', '`auth`', 'to be an array of', "such as { scheme: 'digest', credentials: 'user:secret' }", { secret }),
  refused('an acl that only lets read', acl({ permissions: permission.read, scheme: 'world', id: 'anyone' }), 'TypeError', '`acl`', 'does not give create (4), delete (8) to the account digest "alice"', 'Give at least 13 (read, create and delete) on the znode of a lock', { secret }),
  refused('an acl for another account', acl({ permissions: 31, scheme: 'digest', id: digestId('bob:under the rose') }), 'TypeError', '`acl`', 'does not give read (1), create (4), delete (8) to the account digest "alice"', 'Give at least 13', { secret }),
  refused('an acl for the creator without `auth`', () => connect({ acl: creatorOnly }), 'TypeError', '`acl`', "scheme 'auth' stands for the accounts of the option `auth`, and none is given", 'Give `auth`, or another scheme'),
  refused('an acl with a password in place of its hash', acl({ permissions: 31, scheme: 'digest', id: `alice:${secret}` }), 'TypeError', '`acl`', "the id of scheme 'digest'", "For this client's own account use scheme 'auth'", { secret }),
  refused('an acl for everyone of the world', acl({ permissions: 31, scheme: 'world', id: 'everyone' }), 'TypeError', '`acl`', "the id of scheme 'world'", "is 'anyone'"),
  refused('an acl for a range of addresses that there is not', acl({ permissions: 31, scheme: 'ip', id: '10.0.0.0/99' }), 'TypeError', '`acl`', 'got "10.0.0.0/99"', "such as '10.0.0.0/8'"),
  refused('an acl with named permissions', acl({ permissions: 'all', scheme: 'world', id: 'anyone' }), 'TypeError', '`acl`', 'got an object with "permissions", "scheme", "id"', aclRule),
  refused('an empty acl', () => connect({ acl: [] }), 'TypeError', '`acl`', 'got an empty array', aclRule),
];

/** To make locks. */
export const making: readonly Mistake[] = [
  refused('a mutex of a connect string', ({ path }) => new InterProcessMutex('host:2181' as never, path), 'TypeError', '`client`', 'to be a LockClient', 'from LockClient.connect()'),
  refused('a mutex of a promise of a client', ({ path, client }) => new InterProcessMutex(Promise.resolve(client) as never, path), 'TypeError', '`client`', 'to be a LockClient', 'from LockClient.connect()', { trouble: 'a mutex of a connect string' }),
  refused('a path without a slash in front', ({ client }) => new InterProcessMutex(client, 'orders'), 'InvalidPathError', 'Invalid path', '"orders"', 'Path must start with /'),
  refused('a path with a slash behind', ({ client }) => new InterProcessMutex(client, '/orders/'), 'InvalidPathError', 'Invalid path', '"/orders/"', 'Path must not end with /'),
  refused('a path with an empty name', ({ client }) => new InterProcessMutex(client, '/orders//42'), 'InvalidPathError', 'Invalid path', '"/orders//42"', 'empty node name specified @8'),
  refused('a path with ..', ({ client }) => new InterProcessMutex(client, '/orders/../42'), 'InvalidPathError', 'Invalid path', '"/orders/../42"', 'relative paths not allowed'),
  refused('the root as path', ({ client }) => new InterProcessMutex(client, '/'), 'InvalidPathError', 'Invalid path', '"/"', 'A lock needs a znode of its own'),
  refused('a number as path', ({ client }) => new InterProcessMutex(client, 42 as never), 'InvalidPathError', 'Invalid path', 'got number', 'Path must be a string'),
  refused('a misspelt mutex option', (at) => mutexOf(at, { foreignNode: 'wait' }), 'TypeError', 'InterProcessMutex', 'Unknown option `foreignNode`', 'accepted are driver, foreignNodes'),
  refused('foreignNodes: ignore', (at) => mutexOf(at, { foreignNodes: 'ignore' }), 'TypeError', '`foreignNodes`', 'got "ignore"', "one of 'reject', 'wait'"),
  refused('sticky: true', (at) => mutexOf(at, { sticky: true }), 'TypeError', '`sticky options`', 'got true', 'a plain object with idleMs'),
  refused('a sticky lock without idleMs', (at) => mutexOf(at, { sticky: {} }), 'TypeError', '`sticky.idleMs`', 'got undefined', 'a number of milliseconds ≥ 0'),
  refused('a driver that cannot decide', (at) => mutexOf(at, { driver: {} }), 'TypeError', '`driver`', 'got an empty object', 'an object with a method `decide`'),
  refused('weights beside sticky', (at) => mutexOf(at, { weights: {}, sticky: { idleMs: 5 } }), 'TypeError', '`sticky`', 'got an object with "idleMs"', 'undefined beside `weights`'),
  refused('a semaphore without a limit', ({ client, path }) => new InterProcessSemaphore(client, path, {} as never), 'TypeError', 'InterProcessSemaphore', 'Expected either', '`maxLeases` or `sharedCount`'),
  refused('maxLeases: 0', ({ client, path }) => new InterProcessSemaphore(client, path, { maxLeases: 0 }), 'RangeError', '`maxLeases`', 'got 0', 'an integer ≥ 1'),
  refused('a multi-lock of nothing', () => new InterProcessMultiLock([]), 'RangeError', '`locks`', 'none', 'at least one lock'),
  refused('a multi-lock of one lock twice', (at) => new InterProcessMultiLock([mutexOf(at), mutexOf(at)]), 'RangeError', '`locks`', 'twice', 'locks of different paths'),
  refused('a multi-lock of paths', () => new InterProcessMultiLock(['/a', '/b'] as never), 'TypeError', '`locks`', 'got "/a"', 'an object with a method `acquire`'),
  refused('a lock key of undefined', () => lockKey('order', undefined as never), 'TypeError', '`target`', 'got undefined', 'a string, a number or a bigint'),
  refused('a lock key of NaN', () => lockKey('order', Number('x')), 'RangeError', '`target`', 'got NaN', 'a finite number'),
  refused('a lock key of a number that JSON has rounded', () => lockKey('order', JSON.parse('9007199254740993') as number), 'RangeError', '`target`', 'got 9007199254740992', 'pass it as a string or a bigint'),
  refused('a misspelt option of a retry policy', () => exponentialBackoff({ baseSleepMs: 1, maxRetry: 3 } as never), 'TypeError', 'exponentialBackoff', 'Unknown option `maxRetry`', 'accepted are baseSleepMs, maxSleepMs, maxRetries'),
  refused('retries without a pause', () => retryForever(0), 'RangeError', '`intervalMs`', 'got 0', 'a finite number > 0'),
  refused('minus one retry', () => retryNTimes(-1, 5), 'RangeError', '`n`', 'got -1', 'an integer ≥ 0 or Infinity'),
  refused('lockContext.run of a promise', () => lockContext.run(Promise.resolve() as never), 'TypeError', '`fn` of lockContext.run', 'Expected', 'to be a function'),
  refused('lockContext.bind of nothing', () => lockContext.bind(undefined as never), 'TypeError', '`fn` of lockContext.bind', 'Expected', 'to be a function'),
  refused('a listener of an event that there is not', (at) => mutexOf(at).on('aquired' as never, () => undefined), 'TypeError', '`event`', 'got "aquired"', "one of 'queued', 'acquired'"),
  refused('a listener that is none', ({ client }) => client.on('state', undefined as never), 'TypeError', '`listener`', 'got undefined', 'a function'),
  refused('makeRevocable without a listener', (at) => mutexOf(at).makeRevocable(undefined as never), 'TypeError', '`listener`', 'got undefined', 'a function', { trouble: 'a listener that is none' }),
];

const acquire = (options: unknown) => (at: Scene): Promise<unknown> => mutexOf(at).acquire(options as never);

/** To acquire. */
export const acquiring: readonly Mistake[] = [
  refused('acquire(5000)', acquire(5_000), 'TypeError', '`acquire options`', 'got 5000', acquireOptions),
  refused('acquire(signal)', acquire(AbortSignal.timeout(60_000)), 'TypeError', '`acquire options`', 'got an AbortSignal', 'pass it as { signal }'),
  refused('acquire(controller)', acquire(new AbortController()), 'TypeError', '`acquire options`', 'got an AbortController', 'pass its signal as { signal }'),
  refused('acquire({ timeout })', acquire({ timeout: 5 }), 'TypeError', 'of acquire', 'Unknown option `timeout`', 'accepted are timeoutMs'),
  refused('acquire({ timeoutMs: Infinity })', acquire({ timeoutMs: Infinity }), 'RangeError', '`timeoutMs`', 'got Infinity', 'leave it out to wait without a limit'),
  refused('tryAcquire(Infinity)', (at) => mutexOf(at).tryAcquire(Infinity), 'RangeError', '`timeoutMs`', 'got Infinity', 'call acquire() to wait without a limit'),
  refused('acquire({ timeoutMs: -1 })', acquire({ timeoutMs: -1 }), 'RangeError', '`timeoutMs`', 'got -1', 'a finite number of milliseconds ≥ 0'),
  refused('acquire({ timeoutMs: "5s" })', acquire({ timeoutMs: '5s' }), 'TypeError', '`timeoutMs`', 'got "5s"', 'a number of milliseconds ≥ 0'),
  refused('acquire({ signal: controller })', acquire({ signal: new AbortController() }), 'TypeError', '`signal`', 'got an AbortController', 'an AbortSignal'),
  refused('a lease of no time', acquire({ leaseMs: 0 }), 'RangeError', '`leaseMs`', 'got 0', 'a finite number of milliseconds ≥ 1'),
  refused('a renewal without a lease', acquire({ renewEveryMs: 1_000 }), 'TypeError', '`renewEveryMs`', 'which is 1000', 'Expected `leaseMs` beside'),
  refused('a renewal that comes too late', acquire({ leaseMs: 1_000, renewEveryMs: 1_000 }), 'RangeError', '`renewEveryMs`', 'got 1000', 'less than `leaseMs`, which is 1000'),
  refused('data as a text', acquire({ data: 'worker 7' }), 'TypeError', '`data`', 'got "worker 7"', "a Uint8Array, such as a Buffer, or 'owner'"),
  refused('data of a megabyte', acquire({ data: Buffer.alloc(2 ** 20) }), 'RangeError', '`data`', 'got 1048576', 'at most 524288 bytes'),
  refused('a weight without weights', acquire({ weight: 5 }), 'TypeError', '`weight`', 'Unexpected option', 'new InterProcessMutex(client, path, { weights: {} })'),
  refused('a weight of 11', (at) => mutexOf(at, { weights: {} }).acquire({ weight: 11 }), 'RangeError', '`weight`', 'got 11', 'a whole number from 1 to 10'),
  refused('withLock without a job', (at) => mutexOf(at).withLock(undefined as never), 'TypeError', '`job`', 'got undefined', 'a function'),
  refused('withLock of a promise', (at) => mutexOf(at).withLock(Promise.resolve() as never), 'TypeError', '`job`', 'got a Promise', 'a function', { trouble: 'withLock of something that is no job' }),
  refused('a job that returns a stream', (at) => mutexOf(at).withLock(() => Readable.from(['a'])), 'TypeError', '`job`', 'got a stream or an iterator', 'it would be read after the lock is released'),
  refused('acquireMany(0)', ({ client, path }) => new InterProcessSemaphore(client, path, { maxLeases: 3 }).acquireMany(0), 'RangeError', '`quantity`', 'got 0', 'an integer ≥ 1'),
  refused('acquireMany of more than there are', ({ client, path }) => new InterProcessSemaphore(client, path, { maxLeases: 3 }).acquireMany(4), 'RangeError', '`quantity`', 'got 4', 'at most maxLeases, 3'),
  refused(
    'two limits of one semaphore in one client',
    async ({ client, path, defer }) => {
      const lease = await new InterProcessSemaphore(client, path, { maxLeases: 2 }).acquire();
      defer(() => lease.release());
      return new InterProcessSemaphore(client, path, { maxLeases: 3 }).acquire();
    },
    'RangeError',
    /Expected the semaphore \S+ to have/,
    'got { maxLeases: 3 }',
    '{ maxLeases: 2 }, as this client uses it already',
  ),
  refused(
    'a renewal for no time',
    async (at) => {
      const hold = await mutexOf(at).acquire();
      at.defer(() => hold.release());
      hold.renew(0);
    },
    'RangeError',
    '`leaseMs`',
    'got 0',
    'a finite number of milliseconds ≥ 1',
    { trouble: 'a lease of no time' },
  ),
  refused('data for a sticky lock', (at) => mutexOf(at, { sticky: { idleMs: 5 } }).acquire({ data: Buffer.from('a') }), 'TypeError', '`data`', 'of a sticky lock', 'its holders share a znode'),
  refused('a semaphore mutex with a weight', ({ client, path }) => new InterProcessSemaphoreMutex(client, path).acquire({ weight: 5 } as never), 'TypeError', 'of acquire', 'Unknown option `weight`', 'accepted are timeoutMs, signal, leaseMs, renewEveryMs, data'),
];
