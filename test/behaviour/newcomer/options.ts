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
import { creatorOnly, digest, digestId, permission } from '../../../lab/wire/account.ts';
import { invalidPath, mistake, type Fixture, type Mistake } from './mistake.ts';

const hosts = '127.0.0.1:1';

const connect = (options: unknown, connectString: unknown = hosts): Promise<LockClient> =>
  LockClient.connect(connectString as string, options as never);

const mutexOf = ({ client, path }: Fixture, options?: unknown): InterProcessMutex =>
  new InterProcessMutex(client, path, options as never);

const sessionTimeoutRule =
  '> 0 and at most 2147483647; servers grant from 2 to 20 times their tickTime, by default 4000 to 40000';
const connectStringRule = 'Expected `connectString` to be host[:port][,host[:port]…][/chroot]';
const aclRule = "a non-empty array of { permissions: 1 to 31, scheme: string, id: string }, 'open' or 'creator-only'";
const secretKey = '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49';

/** The mark of another version of this package. */
const ofOtherCopy = {
  [Symbol.for('zookeeper-fair-lock/copy')]: { version: '9.9.9', path: '/app/node_modules/zk/dist/' },
};
const acquireOptions = 'a plain object with timeoutMs, signal, leaseMs, renewEveryMs, releaseTimeoutMs, data, weight';

/** Mistakes when connecting. */
export const connecting: readonly Mistake[] = [
  mistake(
    'new LockClient()',
    ['TypeError', 'LockClient', 'cannot be constructed', "use `await LockClient.connect('host:2181', options)`"],
    () => Reflect.construct(LockClient, ['host:2181']) as unknown,
  ),
  mistake('connect() without hosts', ['TypeError', '`connectString`', 'got null', connectStringRule], () =>
    connect({}, null),
  ),
  mistake(
    'connect() with an object',
    ['TypeError', '`connectString`', 'got an object with "hosts"', connectStringRule],
    () => connect({}, { hosts: ['zk1'] }),
  ),
  mistake(
    'connect() with an empty text',
    ['TypeError', '`connectString`', 'got "": it names no host', connectStringRule],
    () => connect({}, ''),
  ),
  mistake('connect() with a URL', ['TypeError', '`connectString`', 'got "zk://zk1:2181"', 'leave out the scheme'], () =>
    connect({}, 'zk://zk1:2181'),
  ),
  mistake(
    'connect() with credentials before the host',
    [
      'TypeError',
      '`connectString`',
      'got "***@zk1:2181"',
      'credentials go into the `auth` option',
      { secret: 'hunter2' },
    ],
    () => connect({}, 'user:hunter2@zk1:2181'),
  ),
  mistake(
    'connect() with a port that does not exist',
    ['TypeError', 'the port of "zk1:99999"', '99999', 'must be a whole number from 1 to 65535'],
    () => connect({}, 'zk1:99999'),
  ),
  mistake(
    'connect() with a bare IPv6 address',
    ['TypeError', '`connectString`', '"::1" is an IPv6 address', 'needs brackets, as in [::1]:2181'],
    () => connect({}, '::1'),
  ),
  mistake(
    'connect() with a list that ends in a comma',
    ['TypeError', '`connectString`', 'got "zk1:2181,": it has an empty host', connectStringRule],
    () => connect({}, 'zk1:2181,'),
  ),
  mistake(
    'connect() with a chroot that ends in a slash',
    ['TypeError', 'Invalid path "/app/"', 'got "zk1:2181/app/"', 'Path must not end with / character'],
    () => connect({}, 'zk1:2181/app/'),
  ),
  mistake(
    'connect() with a misspelt option',
    ['TypeError', 'LockClient.connect', 'Unknown option `sessionTimeout`', 'accepted are sessionTimeoutMs'],
    () => connect({ sessionTimeout: 5_000 }),
  ),
  mistake(
    'connect() with its options in an instance',
    ['TypeError', '`LockClient.connect options`', 'got a Map', 'a plain object with sessionTimeoutMs'],
    () => connect(new Map()),
  ),
  mistake(
    'sessionTimeoutMs: -1',
    ['RangeError', '`sessionTimeoutMs`', 'got -1', sessionTimeoutRule, { trouble: 'sessionTimeoutMs' }],
    () => connect({ sessionTimeoutMs: -1 }),
  ),
  mistake(
    'sessionTimeoutMs: 0',
    ['RangeError', '`sessionTimeoutMs`', 'got 0', sessionTimeoutRule, { trouble: 'sessionTimeoutMs' }],
    () => connect({ sessionTimeoutMs: 0 }),
  ),
  mistake(
    'sessionTimeoutMs: 2 ** 31',
    ['RangeError', '`sessionTimeoutMs`', 'got 2147483648', sessionTimeoutRule, { trouble: 'sessionTimeoutMs' }],
    () => connect({ sessionTimeoutMs: 2 ** 31 }),
  ),
  mistake('sessionTimeoutMs as a text', ['TypeError', '`sessionTimeoutMs`', 'got "30s"', sessionTimeoutRule], () =>
    connect({ sessionTimeoutMs: '30s' }),
  ),
  mistake(
    'connectionTimeoutMs: -5',
    ['RangeError', '`connectionTimeoutMs`', 'got -5', 'a finite number of milliseconds ≥ 0'],
    () => connect({ connectionTimeoutMs: -5 }),
  ),
  mistake(
    'tickTimeMs: 0',
    ['RangeError', '`tickTimeMs`', 'got 0', "the servers' tickTime in milliseconds, at least 50"],
    () => connect({ tickTimeMs: 0 }),
  ),
  mistake(
    'a number as retryPolicy',
    ['TypeError', '`retryPolicy`', 'got 3', 'an object with a method `allowRetry`'],
    () => connect({ retryPolicy: 3 }),
  ),
  mistake('a function as logger', ['TypeError', '`logger`', 'got a function', 'an object with a method `warn`'], () =>
    connect({ logger: console.log }),
  ),
  mistake(
    'a logger whose `error` is no function',
    ['TypeError', '`logger.error`', 'got 5', 'a function, or not there'],
    () => connect({ logger: { warn: () => undefined, error: 5 } }),
  ),
  mistake('a number as signal', ['TypeError', '`signal`', 'got 5', 'an AbortSignal'], () => connect({ signal: 5 })),
];

const secret = 'open sesame';
const auth = [digest(`alice:${secret}`)];
const acl =
  (...entries: unknown[]): (() => Promise<LockClient>) =>
  () =>
    connect({ auth, acl: entries });

/** Mistakes in credentials and ACLs. */
export const rights: readonly Mistake[] = [
  mistake(
    'digest credentials without a colon',
    [
      'TypeError',
      "the credentials of scheme 'digest' in `auth`",
      'got a text without a user name and a colon',
      "'user:password'",
      { secret },
    ],
    () => connect({ auth: [{ scheme: 'digest', credentials: secret }] }),
  ),
  mistake(
    'digest credentials without a user',
    [
      'TypeError',
      '`auth`',
      'without a user name',
      "'user:password'",
      { secret, trouble: 'digest credentials without a colon' },
    ],
    () => connect({ auth: [{ scheme: 'digest', credentials: `:${secret}` }] }),
  ),
  mistake(
    'auth as one object',
    [
      'TypeError',
      '`auth`',
      'to be an array of',
      "such as { scheme: 'digest', credentials: 'user:secret' }",
      { secret },
    ],
    () => connect({ auth: digest(`alice:${secret}`) }),
  ),
  mistake(
    'auth with a misspelt name',
    ['TypeError', '`auth`', 'to be an array of', 'credentials: string', { secret, trouble: 'auth as one object' }],
    () => connect({ auth: [{ scheme: 'digest', credential: `alice:${secret}` }] }),
  ),
  mistake(
    'an acl that only allows reading',
    [
      'TypeError',
      '`acl`',
      'does not give create (4), delete (8) to the account digest "alice"',
      'Give at least 13 (read, create and delete) on the znode of a lock',
      { secret },
    ],
    acl({ permissions: permission.read, scheme: 'world', id: 'anyone' }),
  ),
  mistake(
    'an acl for another account',
    [
      'TypeError',
      '`acl`',
      'does not give read (1), create (4), delete (8) to the account digest "alice"',
      'Give at least 13',
      { secret },
    ],
    acl({ permissions: 31, scheme: 'digest', id: digestId('bob:under the rose') }),
  ),
  mistake(
    'an acl for the creator without `auth`',
    [
      'TypeError',
      '`acl`',
      "scheme 'auth' stands for the accounts of the option `auth`, of `sasl` and of the certificate in `tls`, and none is given",
      'Give `auth`, or another scheme',
    ],
    () => connect({ acl: creatorOnly }),
  ),
  mistake(
    'an acl for a sasl account without the option `sasl`',
    [
      'TypeError',
      '`acl`',
      'does not give read (1), create (4), delete (8) to a client without the option `auth`',
      'Give at least 13',
      { trouble: 'an acl for another account' },
    ],
    () => connect({ acl: [{ permissions: 31, scheme: 'sasl', id: 'alice' }] }),
  ),
  mistake(
    'tls with the name of a file',
    ['TypeError', '`tls.ca`', 'got a string without "-----BEGIN"', 'Read the file: readFileSync(name)'],
    () => connect({ tls: { ca: '/etc/ssl/ca.pem' } }),
  ),
  mistake(
    'tls with a key and no certificate',
    ['TypeError', '`tls.cert` and `tls.key`', 'got only one of them', 'together', { secret: 'MIGHAgEAMBMGByqGSM49' }],
    () => connect({ tls: { key: secretKey } }),
  ),
  mistake(
    'tls with a certificate that cannot be read',
    ['TypeError', '`tls`', /PEM|asn1|bad|ASN|end line/i, 'options that node:tls accepts'],
    () => connect({ tls: { cert: '-----BEGIN CERTIFICATE-----\nnonsense', key: secretKey } }),
  ),
  mistake('tls with a host', ['TypeError', '`tls.host`', 'Unknown option', 'to the hosts of the connect string'], () =>
    connect({ tls: { host: 'zk1' } }),
  ),
  mistake(
    'tls with an address as the server name',
    ['TypeError', '`tls.servername`', 'got "10.0.0.1"', 'a host name'],
    () => connect({ tls: { servername: '10.0.0.1' } }),
  ),
  mistake(
    'tls as a promise',
    ['TypeError', '`tls`', 'got a Promise', 'It must return the options at once: read the files with readFileSync'],
    () => connect({ tls: Promise.resolve({}) }),
  ),
  mistake(
    'sasl by Kerberos without its package',
    [
      'TypeError',
      '`sasl`',
      'the mechanism GSSAPI',
      '`await kerberos()` of the package @zookeeper-fair-lock/kerberos',
      { secret },
    ],
    () => connect({ sasl: { mechanism: 'GSSAPI', username: 'alice', password: secret } }),
  ),
  mistake('sasl without `await`', ['TypeError', '`sasl`', 'got a Promise', '`await kerberos()`'], () =>
    connect({ sasl: Promise.resolve({ mechanism: 'GSSAPI' }) }),
  ),
  mistake('sasl without a password', ['TypeError', '`sasl.password`', 'got an empty one', 'a non-empty string'], () =>
    connect({ sasl: { mechanism: 'DIGEST-MD5', username: 'alice', password: '' } }),
  ),
  mistake(
    'sasl without a user name',
    ['TypeError', 'Unknown option `sasl.user`', 'sasl.user', 'accepted are mechanism, username, password', { secret }],
    () => connect({ sasl: { mechanism: 'DIGEST-MD5', user: 'alice', password: secret } }),
  ),
  mistake(
    'an acl with a password instead of its hash',
    ['TypeError', '`acl`', "the id of scheme 'digest'", "For this client's own account use scheme 'auth'", { secret }],
    acl({ permissions: 31, scheme: 'digest', id: `alice:${secret}` }),
  ),
  mistake(
    'an acl for everyone of the world',
    ['TypeError', '`acl`', "the id of scheme 'world'", "is 'anyone'"],
    acl({ permissions: 31, scheme: 'world', id: 'everyone' }),
  ),
  mistake(
    'an acl for an invalid address range',
    ['TypeError', '`acl`', "the id of scheme 'ip'", "such as '10.0.0.0/8'"],
    acl({ permissions: 31, scheme: 'ip', id: '10.0.0.0/99' }),
  ),
  mistake(
    'an acl with named permissions',
    [
      'TypeError',
      '`acl[0].permissions`',
      'got "all"',
      'the sum of read (1), write (2), create (4), delete (8) and admin (16)',
    ],
    acl({ permissions: 'all', scheme: 'world', id: 'anyone' }),
  ),
  mistake('an acl that is a text', ['TypeError', '`acl`', 'got a string', aclRule, { secret }], () =>
    connect({ acl: `digest:alice:${secret}` }),
  ),
  mistake(
    'an acl with texts as entries',
    ['TypeError', '`acl`', 'got a string', aclRule, { secret, trouble: 'an acl that is a text' }],
    () => connect({ acl: [`digest:alice:${secret}:cdrwa`] }),
  ),
  mistake(
    'a password as the address of an acl',
    [
      'TypeError',
      '`acl`',
      "the id of scheme 'ip'",
      "such as '10.0.0.0/8'",
      { secret, trouble: 'an acl for an invalid address range' },
    ],
    acl({ permissions: 31, scheme: 'ip', id: `alice:${secret}` }),
  ),
  mistake(
    'credentials in the place of the options',
    ['TypeError', 'LockClient.connect options', 'got a string', 'a plain object with sessionTimeoutMs', { secret }],
    () => connect(`alice:${secret}`),
  ),
  mistake('an empty acl', ['TypeError', '`acl`', 'got an empty array', aclRule], () => connect({ acl: [] })),
];

/** Mistakes when creating locks. */
export const making: readonly Mistake[] = [
  mistake(
    'a mutex of a connect string',
    ['TypeError', '`client`', 'got "host:2181"', 'a LockClient, from LockClient.connect()'],
    ({ path }) => new InterProcessMutex('host:2181' as never, path),
  ),
  mistake(
    'a mutex of a promise of a client',
    ['TypeError', '`client`', 'got a Promise: await it', 'a LockClient, from LockClient.connect()'],
    ({ path, client }) => new InterProcessMutex(Promise.resolve(client) as never, path),
  ),
  mistake(
    'a path without a leading slash',
    [invalidPath, 'Invalid path', '"orders"', 'Path must start with /'],
    ({ client }) => new InterProcessMutex(client, 'orders'),
  ),
  mistake(
    'a path with a trailing slash',
    [invalidPath, 'Invalid path', '"/orders/"', 'Path must not end with /'],
    ({ client }) => new InterProcessMutex(client, '/orders/'),
  ),
  mistake(
    'a path with an empty name',
    [invalidPath, 'Invalid path', '"/orders//42"', 'empty node name specified @8'],
    ({ client }) => new InterProcessMutex(client, '/orders//42'),
  ),
  mistake(
    'a path with ..',
    [invalidPath, 'Invalid path', '"/orders/../42"', 'relative paths not allowed'],
    ({ client }) => new InterProcessMutex(client, '/orders/../42'),
  ),
  mistake(
    'the root as path',
    [invalidPath, 'Invalid path', '"/"', 'A lock needs a znode of its own'],
    ({ client }) => new InterProcessMutex(client, '/'),
  ),
  mistake(
    'a number as path',
    [invalidPath, '`path`', 'got 42', 'a string that starts with /'],
    ({ client }) => new InterProcessMutex(client, 42 as never),
  ),
  mistake(
    'a client of another copy of the package',
    [
      'TypeError',
      'The `client` comes from another copy of zookeeper-fair-lock (version 9.9.9, /app/node_modules/zk/dist/)',
      /than the code that uses it \(version \d+\.\d+\.\d+, .+\)\./,
      'run npm dedupe, ask for one version in every package, and make zookeeper-fair-lock external in every bundle',
    ],
    ({ path }) => new InterProcessMutex(ofOtherCopy as never, path),
  ),
  mistake(
    'a lock of another copy of the package, in a multi-lock',
    ['TypeError', /The lock \/\S+ comes from another copy of zookeeper-fair-lock/, 'version 9.9.9', 'Load one copy'],
    ({ client, path }) =>
      new InterProcessMultiLock([
        new InterProcessMutex(client, path),
        { path: `${path}/other`, acquire: () => Promise.reject(new Error('never called')), host: ofOtherCopy } as never,
      ]),
  ),
  mistake(
    'a mutex as path',
    [invalidPath, 'Invalid path', 'got an InterProcessMutex', 'Pass its `path`'],
    ({ client, path }) => client.withLock(new InterProcessMutex(client, path) as never, () => undefined),
  ),
  mistake(
    'a semaphore mutex with options',
    ['TypeError', 'InterProcessSemaphoreMutex', 'no options', 'For several leases use InterProcessSemaphore'],
    ({ client, path }) => Reflect.construct(InterProcessSemaphoreMutex, [client, path, { maxLeases: 3 }]) as unknown,
  ),
  mistake(
    'a misspelt mutex option',
    ['TypeError', 'InterProcessMutex', 'Unknown option `foreignNode`', 'accepted are driver, foreignNodes'],
    (at) => mutexOf(at, { foreignNode: 'wait' }),
  ),
  mistake('foreignNodes: ignore', ['TypeError', '`foreignNodes`', 'got "ignore"', "one of 'reject', 'wait'"], (at) =>
    mutexOf(at, { foreignNodes: 'ignore' }),
  ),
  mistake('sticky: true', ['TypeError', '`sticky options`', 'got true', 'a plain object with idleMs'], (at) =>
    mutexOf(at, { sticky: true }),
  ),
  mistake(
    'a sticky lock without idleMs',
    ['TypeError', '`sticky.idleMs`', 'got undefined', 'a finite number of milliseconds ≥ 0'],
    (at) => mutexOf(at, { sticky: {} }),
  ),
  mistake(
    'a driver that cannot decide',
    ['TypeError', '`driver`', 'got an empty object', 'an object with a method `decide`'],
    (at) => mutexOf(at, { driver: {} }),
  ),
  mistake(
    'weights together with sticky',
    ['TypeError', '`sticky`', 'got an object with "idleMs"', 'undefined together with `weights`'],
    (at) => mutexOf(at, { weights: {}, sticky: { idleMs: 5 } }),
  ),
  mistake(
    'a semaphore without a limit',
    ['TypeError', 'InterProcessSemaphore', 'Expected either', '`maxLeases` or `sharedCount`'],
    ({ client, path }) => new InterProcessSemaphore(client, path, {} as never),
  ),
  mistake(
    'sharedCount: 3',
    ['TypeError', '`sharedCount`', 'got 3', 'the path of a znode'],
    ({ client, path }) => new InterProcessSemaphore(client, path, { sharedCount: 3 as never }),
  ),
  mistake(
    'sharedCount: count',
    [invalidPath, '`sharedCount`', '"count"', 'Path must start with /'],
    ({ client, path }) => new InterProcessSemaphore(client, path, { sharedCount: 'count' }),
  ),
  mistake(
    'maxLeases: 0',
    ['RangeError', '`maxLeases`', 'got 0', 'an integer ≥ 1'],
    ({ client, path }) => new InterProcessSemaphore(client, path, { maxLeases: 0 }),
  ),
  mistake(
    'a multi-lock of an empty array',
    ['RangeError', '`locks`', 'an empty array', 'at least one lock'],
    () => new InterProcessMultiLock([]),
  ),
  mistake(
    'a multi-lock of one lock twice',
    ['RangeError', '`locks`', '" twice', 'locks that differ'],
    (at) => new InterProcessMultiLock([mutexOf(at), mutexOf(at)]),
  ),
  mistake(
    'a multi-lock of a lock below another',
    ['RangeError', '`locks`', '"/lo/lock" below "/lo"', 'locks of which none is below another'],
    ({ client }) => new InterProcessMultiLock(['/lo/lock', '/lo'].map((path) => new InterProcessMutex(client, path))),
  ),
  mistake(
    'a multi-lock of paths',
    ['TypeError', '`locks[0]`', 'got "/a"', 'an object with a method `acquire`'],
    () => new InterProcessMultiLock(['/a', '/b'] as never),
  ),
  mistake('client.withLock of no path', ['TypeError', '`paths`', 'an empty array', 'at least one path'], ({ client }) =>
    client.withLock([], () => undefined),
  ),
  mistake(
    'client.withLock of one path twice',
    ['RangeError', '`paths`', '"/a" twice', 'paths that differ'],
    ({ client }) => client.withLock(['/a', '/a'], () => undefined),
  ),
  mistake(
    'client.withLock of a path below another',
    ['RangeError', '`paths`', '"/a/b" below "/a"', 'paths of which none is below another'],
    ({ client }) => client.withLock(['/a/b', '/a'], () => undefined),
  ),
  mistake('a lock key of undefined', ['TypeError', '`target`', 'got undefined', 'a string, a number or a bigint'], () =>
    lockKey('order', undefined as never),
  ),
  mistake('a lock key of NaN', ['RangeError', '`target`', 'got NaN', 'a finite number'], () =>
    lockKey('order', Number('x')),
  ),
  mistake(
    'a lock key of a number that JSON has rounded',
    ['RangeError', '`target`', 'got 9007199254740992', 'pass it as a string or a bigint'],
    () => lockKey('order', JSON.parse('9007199254740993') as number),
  ),
  mistake(
    'a misspelt option of a retry policy',
    [
      'TypeError',
      'exponentialBackoff',
      'Unknown option `maxRetry`',
      'accepted are baseSleepMs, maxSleepMs, maxRetries',
    ],
    () => exponentialBackoff({ baseSleepMs: 1, maxRetry: 3 } as never),
  ),
  mistake(
    'retries without a pause',
    ['RangeError', '`intervalMs`', 'got 0', 'a finite number of milliseconds > 0'],
    () => retryForever(0),
  ),
  mistake('minus one retry', ['RangeError', '`n`', 'got -1', 'an integer ≥ 0 or Infinity'], () => retryNTimes(-1, 5)),
  mistake(
    'lockContext.run of a promise',
    ['TypeError', '`fn` of lockContext.run', 'Expected', 'to be a function'],
    () => lockContext.run(Promise.resolve() as never),
  ),
  mistake(
    'lockContext.bind of undefined',
    ['TypeError', '`fn` of lockContext.bind', 'Expected', 'to be a function'],
    () => lockContext.bind(undefined as never),
  ),
  mistake(
    'a listener of an unknown event',
    ['TypeError', '`event`', 'got "aquired"', "one of 'queued', 'acquired'"],
    (at) => mutexOf(at).on('aquired' as never, () => undefined),
  ),
  mistake(
    'a listener that is not a function',
    ['TypeError', '`listener`', 'got undefined', 'a function'],
    ({ client }) => client.on('state', undefined as never),
  ),
  mistake(
    'makeRevocable without a listener',
    ['TypeError', '`listener`', 'got undefined', 'a function', { trouble: 'a listener that is not a function' }],
    (at) => mutexOf(at).makeRevocable(undefined as never),
  ),
];

const acquire =
  (options: unknown) =>
  (at: Fixture): Promise<unknown> =>
    mutexOf(at).acquire(options as never);

/** Mistakes when acquiring. */
export const acquiring: readonly Mistake[] = [
  mistake('acquire(5000)', ['TypeError', '`acquire options`', 'got 5000', acquireOptions], acquire(5_000)),
  mistake(
    'acquire(signal)',
    ['TypeError', '`acquire options`', 'got an AbortSignal', 'pass it as { signal }'],
    acquire(AbortSignal.timeout(60_000)),
  ),
  mistake(
    'acquire(controller)',
    ['TypeError', '`acquire options`', 'got an AbortController', 'pass its signal as { signal }'],
    acquire(new AbortController()),
  ),
  mistake(
    'acquire({ timeout })',
    ['TypeError', 'of acquire', 'Unknown option `timeout`', 'accepted are timeoutMs'],
    acquire({ timeout: 5 }),
  ),
  mistake(
    'acquire({ timeoutMs: Infinity })',
    ['RangeError', '`timeoutMs`', 'got Infinity', 'leave it out to wait without a limit'],
    acquire({ timeoutMs: Infinity }),
  ),
  mistake(
    'tryAcquire(Infinity)',
    ['RangeError', '`timeoutMs`', 'got Infinity', 'call acquire() to wait without a limit'],
    (at) => mutexOf(at).tryAcquire(Infinity),
  ),
  mistake(
    'acquire({ timeoutMs: -1 })',
    ['RangeError', '`timeoutMs`', 'got -1', 'a finite number of milliseconds ≥ 0'],
    acquire({ timeoutMs: -1 }),
  ),
  mistake(
    'acquire({ timeoutMs: "5s" })',
    ['TypeError', '`timeoutMs`', 'got "5s"', 'a finite number of milliseconds ≥ 0'],
    acquire({ timeoutMs: '5s' }),
  ),
  mistake(
    'acquire({ signal: controller })',
    ['TypeError', '`signal`', 'got an AbortController', 'an AbortSignal'],
    acquire({ signal: new AbortController() }),
  ),
  mistake(
    'a lease of 0 ms',
    ['RangeError', '`leaseMs`', 'got 0', 'a finite number of milliseconds ≥ 1'],
    acquire({ leaseMs: 0 }),
  ),
  mistake(
    'a renewal without a lease',
    ['TypeError', '`renewEveryMs`', 'which is 1000', 'Expected `leaseMs` together with'],
    acquire({ renewEveryMs: 1_000 }),
  ),
  mistake(
    'a renewal after the end of the lease',
    ['RangeError', '`renewEveryMs`', 'got 1000', 'less than `leaseMs`, which is 1000'],
    acquire({ leaseMs: 1_000, renewEveryMs: 1_000 }),
  ),
  mistake(
    'a release that waits for a negative time',
    ['RangeError', '`releaseTimeoutMs`', 'got -5', 'a finite number of milliseconds ≥ 0'],
    acquire({ releaseTimeoutMs: -5 }),
  ),
  mistake(
    'a release that waits for Infinity',
    ['RangeError', '`releaseTimeoutMs`', 'got Infinity', 'leave it out to wait until the session’s deadline'],
    acquire({ releaseTimeoutMs: Infinity }),
  ),
  mistake(
    'data as a text',
    ['TypeError', '`data`', 'got "worker 7"', "a Uint8Array, such as a Buffer, or 'owner'"],
    acquire({ data: 'worker 7' }),
  ),
  mistake(
    'data of a megabyte',
    ['RangeError', '`data`', 'got 1048576', 'at most 524288 bytes'],
    acquire({ data: Buffer.alloc(2 ** 20) }),
  ),
  mistake(
    'a weight without weights',
    ['TypeError', '`weight`', 'Unexpected option', 'new InterProcessMutex(client, path, { weights: {} })'],
    acquire({ weight: 5 }),
  ),
  mistake('a weight of 11', ['RangeError', '`weight`', 'got 11', 'a whole number from 1 to 10'], (at) =>
    mutexOf(at, { weights: {} }).acquire({ weight: 11 }),
  ),
  mistake('withLock without a job', ['TypeError', '`job`', 'got undefined', 'a function'], (at) =>
    mutexOf(at).withLock(undefined as never),
  ),
  mistake(
    'withLock of a promise',
    ['TypeError', '`job`', 'got a Promise', 'a function', { trouble: 'withLock of a value that is not a function' }],
    (at) => mutexOf(at).withLock(Promise.resolve() as never),
  ),
  mistake(
    'a job that returns a stream',
    ['TypeError', '`job`', 'got a stream or an iterator', 'it would be read after the lock is released'],
    (at) => mutexOf(at).withLock(() => Readable.from(['a'])),
  ),
  mistake('acquireMany(0)', ['RangeError', '`quantity`', 'got 0', 'an integer ≥ 1'], ({ client, path }) =>
    new InterProcessSemaphore(client, path, { maxLeases: 3 }).acquireMany(0),
  ),
  mistake(
    'acquireMany of more than maxLeases',
    ['RangeError', '`quantity`', 'got 4', 'at most maxLeases, 3'],
    ({ client, path }) => new InterProcessSemaphore(client, path, { maxLeases: 3 }).acquireMany(4),
  ),
  mistake(
    'two limits of one semaphore in one client',
    [
      'RangeError',
      /Expected the semaphore \S+ to have/,
      'got { maxLeases: 3 }',
      '{ maxLeases: 2 }, as another object of this client uses it',
    ],
    async ({ client, path, defer }) => {
      const lease = await new InterProcessSemaphore(client, path, { maxLeases: 2 }).acquire();
      defer(() => lease.release());
      return new InterProcessSemaphore(client, path, { maxLeases: 3 }).acquire();
    },
  ),
  mistake(
    'a release without its hold',
    ['TypeError', 'hold.release()', 'got a call of the method alone', 'pass () => hold.release()'],
    async (at) => {
      const hold = await mutexOf(at).acquire();
      at.defer(() => hold.release());

      const { release } = hold;
      return Reflect.apply(release, undefined, []);
    },
  ),
  mistake(
    'a withLock without its mutex',

    ['TypeError', 'mutex.withLock(job)', 'got a call of the method alone', 'pass () => mutex.withLock(job)'],
    (at) => Reflect.apply(mutexOf(at).withLock, undefined, [() => undefined]),
  ),
  mistake(
    'a withLock without its client',

    [
      'TypeError',
      'client.withLock(path, job)',
      'got a call of the method alone',
      'pass () => client.withLock(path, job)',
    ],
    ({ client, path }) => Reflect.apply(client.withLock, undefined, [path, () => undefined]),
  ),
  mistake(
    'a close without its client, as a handler of a signal',
    ['TypeError', 'client.close()', 'got a call of the method alone', 'pass () => client.close()'],
    ({ client }) => Reflect.apply(client.close, process, ['SIGTERM', 15] as never),
  ),
  mistake(
    'an endless lease',
    ['RangeError', '`leaseMs`', 'got Infinity', 'leave it out to have no lease', { trouble: 'a lease of 0 ms' }],
    (at) => mutexOf(at).acquire({ leaseMs: Infinity }),
  ),
  mistake(
    'a renewal for 0 ms',
    ['RangeError', '`leaseMs`', 'got 0', 'a finite number of milliseconds ≥ 1', { trouble: 'a lease of 0 ms' }],
    async (at) => {
      const hold = await mutexOf(at).acquire();
      at.defer(() => hold.release());
      hold.renew(0);
    },
  ),
  mistake(
    'data for a sticky lock',
    ['TypeError', '`data`', 'of a sticky lock', 'the holders of a sticky lock share one znode'],
    (at) => mutexOf(at, { sticky: { idleMs: 5 } }).acquire({ data: Buffer.from('a') }),
  ),
  mistake(
    'a semaphore mutex with a weight',
    [
      'TypeError',
      'of acquire',
      'Unknown option `weight`',
      'accepted are timeoutMs, signal, leaseMs, renewEveryMs, releaseTimeoutMs, data',
    ],
    ({ client, path }) => new InterProcessSemaphoreMutex(client, path).acquire({ weight: 5 } as never),
  ),
];
