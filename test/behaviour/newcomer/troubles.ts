import { createServer, type Server } from 'node:net';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:tls';
import {
  forceRelease,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockClient,
  lockContext,
  revoke,
  watchQueue,
} from '../../../src/index.ts';
import { creatorOnly, digest } from '../../../lab/wire/account.ts';
import { freePorts, listen, onFreshPorts } from '../../../lab/servers/free-port.ts';
import { reached } from '../../../lab/reached.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { keyFile } from '../../../lab/servers/tls-keys.ts';
import { until } from '../../../lab/until.ts';
import { invalidPath, mistake, type Fixture, type Mistake } from './mistake.ts';

const timedOut = { is: 'LockTimeoutError', code: 'ERR_LOCK_TIMEOUT' } as const;
const connectionTimeout = { is: 'ConnectionTimeoutError', code: 'ERR_LOCK_CONNECTION_TIMEOUT' } as const;
const requestFailed = { is: 'RequestFailedError', code: 'ERR_LOCK_REQUEST_FAILED' } as const;
const notOwned = { is: 'NotOwnedError', code: 'ERR_LOCK_NOT_OWNED' } as const;
const foreignNode = { is: 'ForeignNodeError', code: 'ERR_LOCK_FOREIGN_NODE' } as const;
const closed = { is: 'ClientClosedError', code: 'ERR_LOCK_CLIENT_CLOSED' } as const;
const deadlock = { is: 'DeadlockError', code: 'ERR_LOCK_DEADLOCK' } as const;

const isoTime = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z';

/** Starts the server on a free port until the end of the mistake. */
async function listening({ defer }: Fixture, server: Server): Promise<string> {
  const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));
  defer(() => server.close());
  return `127.0.0.1:${port}`;
}

const connectBriefly = (hosts: string, connectionTimeoutMs = 400): Promise<LockClient> =>
  LockClient.connect(hosts, { connectionTimeoutMs, tls: undefined });

/** The servers are missing, or the port belongs to another service. */
export const servers: readonly Mistake[] = [
  mistake(
    'connect() to a port without a listener',
    [
      connectionTimeout,
      /No ZooKeeper server of 127\.0\.0\.1:\d+ answered within 400 ms/,
      /last: connect ECONNREFUSED 127\.0\.0\.1:\d+/,
      'Check that ZooKeeper runs there',
    ],
    async () => connectBriefly(`127.0.0.1:${(await freePorts(1))[0]}`),
  ),
  mistake(
    'connect() to three hosts that are down',
    [
      connectionTimeout,
      /No ZooKeeper server of (127\.0\.0\.1:\d+,){2}127\.0\.0\.1:\d+/,
      /last: (127\.0\.0\.1:(\d+): connect ECONNREFUSED 127\.0\.0\.1:\2(; )?){3}\./,
      'Check that ZooKeeper runs there',
    ],
    async () => connectBriefly((await freePorts(3)).map((port) => `127.0.0.1:${port}`).join(',')),
  ),
  mistake(
    'connect() to two hosts, one down and one silent',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      /: connect ECONNREFUSED .*; 127\.0\.0\.1:\d+: .*(did not answer within|has not answered yet)/,
      'Check that ZooKeeper runs there',
    ],
    async ({ defer }) => {
      const silent = await startSilentServer();
      defer(() => silent.close());
      // So long that the silent host leaves time for the other one.
      return connectBriefly(`127.0.0.1:${(await freePorts(1))[0]},${silent.connectString}`, 2_000);
    },
  ),
  mistake(
    'connect() to an unknown host',
    [
      connectionTimeout,
      'No ZooKeeper server of no-such-host.invalid:2181',
      /last: getaddrinfo \w+ no-such-host\.invalid/,
      'Check that ZooKeeper runs there',
    ],
    () => connectBriefly('no-such-host.invalid:2181'),
  ),
  mistake(
    'connect() to a silent server',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      /last: 127\.0\.0\.1:\d+ did not answer within \d+ ms, the time of one attempt/,
      'Check that ZooKeeper runs there',
    ],
    async ({ defer }) => {
      const silent = await startSilentServer();
      defer(() => silent.close());
      return LockClient.connect(silent.connectString, { connectionTimeoutMs: 400, sessionTimeoutMs: 2_400 });
    },
  ),
  mistake(
    'connect() to an HTTP server',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      'the answer begins with the text "HTTP"',
      'Is this the clientPort of a ZooKeeper server?',
    ],
    async (at) =>
      connectBriefly(
        await listening(
          at,
          createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n')),
        ),
      ),
  ),
  mistake(
    'connect() to a TLS port that closes the connection',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      /last: 127\.0\.0\.1:\d+ closed the connection without an answer\. .* maxClientCnxns allows/,
      'host and port are those of its clientPort',
      { trouble: 'connect() to a server that closes the connection' },
    ],
    async (at) => connectBriefly(await listening(at, createTlsServer())),
  ),
  mistake(
    'connect() with TLS to a server of an unknown authority',
    [
      { is: 'TlsError', code: 'ERR_LOCK_TLS' },
      /TLS with 127\.0\.0\.1:\d+ failed/,
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      "Give that authority's certificate in the option tls.ca",
    ],
    async (at) => {
      const [cert, key] = [readFileSync(keyFile('server', 'pem')), readFileSync(keyFile('server', 'key'))];
      return LockClient.connect(await listening(at, createTlsServer({ cert, key })), { tls: true });
    },
  ),
  mistake(
    'connect() to a TLS port that sends an alert',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      'the answer is TLS',
      'If this is the secureClientPort of a ZooKeeper server, set the option `tls`',
    ],
    async (at) =>
      connectBriefly(
        await listening(
          at,
          createServer((socket) => socket.resume().end(Buffer.of(21, 3, 1, 0, 2, 2, 10))),
        ),
      ),
  ),
  mistake(
    'connect() to a server that closes the connection',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      /last: 127\.0\.0\.1:\d+ closed the connection without an answer\. .* maxClientCnxns allows/,
      'Check that ZooKeeper runs there',
    ],
    async (at) =>
      connectBriefly(
        await listening(
          at,
          createServer((socket) => socket.destroy()),
        ),
      ),
  ),
  mistake(
    'connect() to a frozen server',
    [
      connectionTimeout,
      'No ZooKeeper server of',
      /last: 127\.0\.0\.1:\d+ did not answer within \d+ ms/,
      'Check that ZooKeeper runs there',
      { trouble: 'connect() to a silent server' },
    ],
    ({ lab, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return LockClient.connect(lab.connectString, { connectionTimeoutMs: 400, sessionTimeoutMs: 2_400 });
    },
  ),
];

const secret = 'open sesame';

/** A lock of Alice that no other account may use. */
async function guarded({ path, connect }: Fixture): Promise<void> {
  const alice = await connect({ auth: [digest(`alice:${secret}`)], acl: creatorOnly });
  await new InterProcessMutex(alice, path).acquire();
}

/** Missing permissions. */
export const permissions: readonly Mistake[] = [
  mistake(
    'credentials with a misspelt scheme',
    [
      { is: 'AuthFailedError', code: 'ERR_LOCK_AUTH_FAILED' },
      /The servers 127\.0\.0\.1:\d+ refused the credentials/,
      'of scheme "digst"',
      'Check the option `auth`: the servers must know the scheme ("digest" is built in)',
      { secret: secret },
    ],
    ({ connect }) => connect({ auth: [{ scheme: 'digst', credentials: `alice:${secret}` }] }),
  ),
  mistake(
    'an acl of a scheme that is misspelt',
    ({ path }) => [
      requestFailed,
      `The lock ${path} cannot be acquired: INVALID_ACL`,
      'they do not know one of its schemes ("digst")',
      'the servers refused the option `acl`',
    ],
    async ({ connect, path }) =>
      new InterProcessMutex(
        await connect({ acl: [{ permissions: 31, scheme: 'digst', id: 'alice' }] }),
        path,
      ).acquire(),
  ),
  mistake(
    'a wrong password, reported by acquire()',
    ({ path }) => [
      requestFailed,
      `The lock ${path} cannot be acquired: NO_AUTH`,
      `the account digest "alice" may not create below ${path}`,
      /A wrong password shows only here, .*check the option `auth`/,
      { secret: 'open barley' },
    ],
    async (at) => {
      await guarded(at);
      return new InterProcessMutex(
        await at.connect({ auth: [digest('alice:open barley')], acl: creatorOnly }),
        at.path,
      ).acquire();
    },
  ),
  mistake(
    'a wrong password, reported by participants()',
    ({ path }) => [
      requestFailed,
      `The participants of ${path} cannot be read: NO_AUTH`,
      `the account digest "alice" may not read ${path}`,
      'check the option `auth`',
      { secret: 'open barley' },
    ],
    async (at) => {
      await guarded(at);
      return new InterProcessMutex(await at.connect({ auth: [digest('alice:open barley')] }), at.path).participants();
    },
  ),
  mistake(
    'no account, reported by acquire()',
    ({ path }) => [
      requestFailed,
      `The lock ${path} cannot be acquired: NO_AUTH`,
      `a client without the option \`auth\` may not create below ${path}`,
      `Ask who owns ${path} for that permission`,
    ],
    async (at) => {
      await guarded(at);
      return new InterProcessMutex(at.client, at.path).acquire();
    },
  ),
  mistake(
    'no account, reported by tryAcquire()',
    ({ path }) => [
      requestFailed,
      `The lock ${path} cannot be acquired: NO_AUTH`,
      `a client without the option \`auth\` may not read ${path}`,
      `Ask who owns ${path} for that permission`,
    ],
    async (at) => {
      await guarded(at);
      return new InterProcessMutex(at.client, at.path).tryAcquire();
    },
  ),
  mistake(
    'no account, reported by watchQueue()',
    ({ path }) => [
      requestFailed,
      `The queue of ${path} cannot be watched: NO_AUTH`,
      `may not read ${path}`,
      `Ask who owns ${path} for that permission`,
    ],
    async (at) => {
      await guarded(at);
      return watchQueue(at.client, at.path).next();
    },
  ),
  mistake(
    'no account, reported by forceRelease()',
    ({ path }) => [
      requestFailed,
      new RegExp(`${path}/_c_\\S+ cannot be released by force: NO_AUTH`),
      new RegExp(`may not write ${path}/_c_`),
      'for that permission',
    ],
    async (at) => {
      await guarded(at);
      const alice = await at.connect({ auth: [digest(`alice:${secret}`)] });
      const [holder] = await new InterProcessMutex(alice, at.path).participants();
      return forceRelease(at.client, holder?.path ?? '');
    },
  ),
];

/** The time in which a waiter learns its place in the queue. */
const learnMs = 1_000;

/** Another process holds the lock. */
async function heldByOther({ other, path, defer }: Fixture, data?: 'owner'): Promise<void> {
  const hold = await new InterProcessMutex(other, path).acquire(data ? { data } : {});
  defer(() => hold.release());
}

async function cutOff({ lab, client, defer }: Fixture): Promise<void> {
  const suspended = reached(client, 'suspended');
  await lab.proxy.refuse();
  defer(() => lab.proxy.accept());
  lab.proxy.cut();
  await suspended;
}

/** The lock is not acquired in time. */
export const waits: readonly Mistake[] = [
  mistake(
    'a wait for a lock that another process holds',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      new RegExp(
        `: 1 participant is ahead in the queue; the lock is held by host [\\d.]+ \\(session 0x[0-9a-f]+\\), in the queue since ${isoTime}`,
      ),
      'Wait longer, or find the holder with participants()',
    ],
    async (at) => {
      await heldByOther(at);
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'a wait for a lock whose holder names itself in its data',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      new RegExp(`held by host \\S+, pid ${process.pid} \\(session`),
      'Wait longer, or find the holder with participants()',
    ],
    async (at) => {
      await heldByOther(at, 'owner');
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'a wait behind four others',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      ': 4 participants are ahead in the queue',
      'Wait longer',
    ],
    async (at) => {
      const others: Promise<unknown>[] = [];
      at.defer(() => Promise.all(others));
      await heldByOther(at);
      const waiting = new InterProcessMutex(at.other, at.path);
      for (let count = 0; count < 3; count += 1)
        others.push(waiting.tryAcquire(10_000).then((hold) => hold?.release()));
      await until('the others are queued', async () => (await waiting.participants()).length === 4);
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'one try at a lock that another process holds',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within 0 ms`,
      'others hold the lock, or are ahead in the queue',
      'Wait longer',
    ],
    async (at) => {
      await heldByOther(at);
      return new InterProcessMutex(at.client, at.path).withLock(() => undefined, { timeoutMs: 0 });
    },
  ),
  mistake(
    'a wait for a semaphore without free leases',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      'others hold the lock',
      'Wait longer',
      { trouble: 'one try at a lock that another process holds' },
    ],
    async ({ client, other, path, defer }) => {
      const lease = await new InterProcessSemaphore(other, path, { maxLeases: 1 }).acquire();
      defer(() => lease.release());
      return new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'a wait for a multi-lock with one held lock',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      ': 1 participant is ahead in the queue',
      'Wait longer',
      { trouble: 'a wait for a lock that another process holds' },
    ],
    async (at) => {
      await heldByOther(at);
      const locks = [new InterProcessMutex(at.client, at.path), new InterProcessMutex(at.client, `${at.path}-second`)];
      return new InterProcessMultiLock(locks).acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'a forgotten release()',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      new RegExp(`: the lock is held by this process since ${isoTime} with ${path}/_c_`),
      'Was `release()` forgotten? Use withLock or await using',
    ],
    async ({ client, path, defer }) => {
      const forgotten = await new InterProcessMutex(client, path).acquire();
      defer(() => forgotten.release());
      return new InterProcessMutex(client, path).acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'a forgotten release(), reported to the third waiter',
    ({ path }) => [
      timedOut,
      `The lock ${path}`,
      /held by this process since \S+ with \S+; 3 participants are ahead in the queue/,
      'Was `release()` forgotten?',
    ],
    async ({ client, path, defer }) => {
      const mutex = new InterProcessMutex(client, path);
      const forgotten = await mutex.acquire();
      const waiting = [1, 2].map(() => mutex.tryAcquire(10_000).then((hold) => hold?.release()));
      defer(async () => {
        await forgotten.release();
        await Promise.all(waiting);
      });
      return mutex.acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'forgotten leases of a semaphore',
    ({ path }) => [
      timedOut,
      `The lock ${path}`,
      new RegExp(`held by this process 2 times, the longest since ${isoTime} with ${path}/leases/_c_`),
      'Was `release()` forgotten?',
    ],
    async ({ client, path, defer }) => {
      const semaphore = new InterProcessSemaphore(client, path, { maxLeases: 2 });
      const leases = await semaphore.acquireMany(2);
      defer(() => Promise.all(leases.map((lease) => lease.release())));
      return semaphore.acquire({ timeoutMs: learnMs });
    },
  ),
  mistake(
    'an inner job that waits for its outer job’s lock, with a timeout',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within ${learnMs} ms`,
      new RegExp(`a function around this call holds the lock since ${isoTime}, as another owner`),
      'Acquire the lock in the lock context that holds it, which re-enters, or release that hold first',
    ],
    ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.acquire({ timeoutMs: learnMs })));
    },
  ),
  mistake(
    'one try of an inner job at its outer job’s lock',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within 0 ms`,
      'a function around this call holds the lock',
      'or release that hold first',
      { trouble: 'an inner job that waits for its outer job’s lock, with a timeout' },
    ],
    ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.acquire({ timeoutMs: 0 })));
    },
  ),
  mistake(
    'an inner job that waits for its outer job’s lock, without a timeout',
    ({ path }) => [
      deadlock,
      `The lock ${path}`,
      'held by a function around this call, as another owner',
      'Acquire the lock in the lock context that holds it, which re-enters',
    ],
    ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.acquire()));
    },
  ),
  mistake(
    'an upgrade from reading to writing, with a timeout',
    ({ path }) => [
      timedOut,
      `The lock ${path}`,
      'this flow holds the lock for reading since',
      'Release the read lock first',
    ],
    ({ client, path }) => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
      return readLock.withLock(() => writeLock.acquire({ timeoutMs: learnMs }));
    },
  ),
  mistake(
    'an upgrade from reading to writing, without a timeout',
    ({ path }) => [deadlock, `The lock ${path}`, 'is held for reading in this flow', 'Release the read lock first'],
    ({ client, path }) => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
      return readLock.withLock(() => writeLock.acquire());
    },
  ),
  mistake(
    'a wait while no server can be reached',
    ({ path, lab }) => [
      timedOut,
      `The lock ${path} was not acquired within 1200 ms`,
      new RegExp(
        `: no server has answered for [1-9]\\d*\\.\\d s; last: connect ECONNREFUSED ${lab.proxy.connectString}`,
      ),
      'Check that the servers run, and that this host can reach them',
    ],
    async (at) => {
      await cutOff(at);
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: 1_200 });
    },
  ),
  mistake(
    'a wait while the server is frozen',
    ({ path, lab }) => [
      timedOut,
      `The lock ${path} was not acquired within 1200 ms`,
      new RegExp(
        `: no server has answered for [1-9]\\d*\\.\\d s; last: ${lab.proxy.connectString} is connected, but does not answer`,
      ),
      'Check that the servers run',
    ],
    async ({ lab, client, path, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return new InterProcessMutex(client, path).acquire({ timeoutMs: 1_200 });
    },
  ),
  mistake(
    'a wait behind another process while the servers go down',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within 3000 ms`,
      /no server has answered for .*ECONNREFUSED.*\. Before that, 1 participant was ahead in the queue/,
      'Check that the servers run',
    ],
    async (at) => {
      await heldByOther(at);
      const mutex = new InterProcessMutex(at.client, at.path);
      const queued = new Promise((resolve) => mutex.once('queued', resolve));
      const waiting = mutex.acquire({ timeoutMs: 3_000 });
      waiting.catch(() => undefined);
      await queued;
      await cutOff(at);
      return waiting;
    },
  ),
  mistake(
    'a timeout shorter than a reply takes',
    ({ path }) => [
      timedOut,
      `The lock ${path} was not acquired within 20 ms`,
      /no server has answered for \d+ ms; last: \S+ is connected, but does not answer/,
      'Give the call more time than an answer takes',
    ],
    async ({ lab, client, path, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return new InterProcessMutex(client, path).acquire({ timeoutMs: 20 });
    },
  ),
  mistake(
    'a query while the server is frozen',
    ({ path }) => [
      timedOut,
      `The participants of ${path} were not read within 1200 ms`,
      /no server has answered for [1-9]\d*\.\d s/,
      'Check that the servers run',
    ],
    async ({ lab, client, path, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return new InterProcessMutex(client, path).participants({ timeoutMs: 1_200 });
    },
  ),
  mistake(
    'a query for the holder while no server can be reached',
    ({ path }) => [
      timedOut,
      `The holder of ${path} was not read within 1200 ms`,
      /no server has answered for [1-9]\d*\.\d s; last: connect ECONNREFUSED/,
      'Check that the servers run',
    ],
    async (at) => {
      await cutOff(at);
      return new InterProcessMutex(at.client, at.path).holder({ timeoutMs: 1_200 });
    },
  ),
];

/** Locks that are not held, znodes that do not exist, and znodes in the way. */
export const others: readonly Mistake[] = [
  mistake(
    'mutex.release() of a lock that is not held',
    ({ path }) => [
      notOwned,
      `You do not own the lock: ${path}`,
      'of the lock context in which it is called',
      'Prefer hold.release()',
    ],
    ({ client, path }) => new InterProcessMutex(client, path).release(),
  ),
  mistake(
    'mutex.release() outside of the context that holds it',
    ({ path }) => [
      notOwned,
      `You do not own the lock: ${path}`,
      'of the lock context in which it is called',
      'Prefer hold.release()',
      { trouble: 'mutex.release() of a lock that is not held' },
    ],
    ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.release()));
    },
  ),
  mistake(
    'release() of a semaphore mutex that is not held',
    ({ path }) => [
      notOwned,
      `Not acquired: ${path}`,
      'that was acquired by this object and is not held by withLock, and there is no such hold',
      'Prefer hold.release()',
    ],
    ({ client, path }) => new InterProcessSemaphoreMutex(client, path).release(),
  ),
  mistake(
    'assertValid() after a release',
    ({ path }) => [notOwned, `You do not own the lock: ${path}`, /released [\d.]+ m?s ago$/, 'this hold was released'],
    async ({ client, path }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      await hold.release();
      hold.assertValid();
    },
  ),
  mistake(
    'assertValid() of a multi-lock after a release',
    ({ path }) => [
      notOwned,
      `You do not own the lock: ${path}, ${path}-second`,
      /released [\d.]+ m?s ago$/,
      'this hold was released',
    ],
    async ({ client, path }) => {
      const hold = await new InterProcessMultiLock([
        new InterProcessMutex(client, path),
        new InterProcessMutex(client, `${path}-second`),
      ]).acquire();
      await hold.release();
      hold.assertValid();
    },
  ),
  mistake(
    'renew() after a release',
    ({ path }) => [
      notOwned,
      `You do not own the lock: ${path}`,
      /it ended [\d.]+ m?s ago, when it was released$/,
      'it cannot be renewed for 5000 ms',
    ],
    async ({ client, path }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      await hold.release();
      hold.renew(5_000);
    },
  ),
  mistake(
    'a transaction with a time to live on a server that allows none',
    ({ path }) => [
      requestFailed,
      `because of operation 0, create("${path}-short")`,
      'UNIMPLEMENTED (-6) from createTTL',
      'Start each of them with -Dzookeeper.extendedTypesEnabled=true, or use another `mode`',
    ],
    async ({ client, path }) => {
      await using hold = await new InterProcessMutex(client, path).acquire();
      const options = { mode: 'persistent-with-ttl', ttlMs: 1_000 } as const;
      await hold.transaction().create(`${path}-short`, undefined, options).commit();
    },
  ),
  mistake(
    'a time to live of a mode without one',
    ['TypeError', '`ttlMs`', "got 1000: the mode 'persistent' has no time to live", 'left out'],
    async ({ client, path }) => {
      await using hold = await new InterProcessMutex(client, path).acquire();
      hold.transaction().create(`${path}-short`, undefined, { ttlMs: 1_000 });
    },
  ),
  mistake(
    'a mutex on the path above a lock that is held',
    ({ path }) => [
      foreignNode,
      `The lock ${path} has children that this kind of lock did not create`,
      'create: b. They may be another lock, which may be held',
      "a lock's path must not be the parent of another lock",
    ],
    async ({ client, path, defer }) => {
      const below = await new InterProcessMutex(client, `${path}/b`).acquire();
      defer(() => below.release());
      return new InterProcessMutex(client, path).acquire();
    },
  ),
  mistake(
    'a mutex on the path of a semaphore',
    ({ path }) => [
      foreignNode,
      `The lock ${path}`,
      /create: (locks, leases|leases, locks)\./,
      'Use another path, in all clients at once',
    ],
    async ({ client, path, defer }) => {
      const lease = await new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire();
      defer(() => lease.release());
      return new InterProcessMutex(client, path).acquire();
    },
  ),
  mistake(
    'a semaphore on the path of a mutex',
    ({ path }) => [
      foreignNode,
      `The lock ${path}`,
      /create: _c_\S+-lock-\d+/,
      'Use another path, in all clients at once',
      { trouble: 'a mutex on the path of a lock of another kind' },
    ],
    async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire();
    },
  ),
  mistake(
    "a lock below a holder's znode",
    ({ path }) => [
      requestFailed,
      new RegExp(`The lock ${path}/_c_\\S+/inner cannot be acquired: NO_CHILDREN_FOR_EPHEMERALS`),
      'belongs to a session',
      'Use a path that is not below another lock',
    ],
    async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return new InterProcessMutex(client, `${hold.path}/inner`).acquire();
    },
  ),
  mistake(
    'forceRelease() of a lock path',
    ({ path }) => [
      invalidPath,
      `Invalid path "${path}"`,
      'no session owns this znode',
      'Pass the path of a participant, such as (await mutex.participants())[0].path',
    ],
    async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return forceRelease(client, path);
    },
  ),
  mistake(
    'revoke() of a lock path',
    ({ path }) => [
      invalidPath,
      `Invalid path "${path}"`,
      'no session owns this znode',
      'Pass the path of a participant',
      { trouble: 'forceRelease() of a lock path' },
    ],
    async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return revoke(client, path);
    },
  ),
  mistake(
    'forceRelease() of a participant that does not exist',
    ({ path }) => [requestFailed, `${path} cannot be released by force`, 'because it does not exist', 'NO_NODE'],
    ({ client, path }) => forceRelease(client, path),
  ),
  mistake(
    'a shared count that does not exist',
    ({ path }) => [
      requestFailed,
      `The shared count ${path}-count cannot be read`,
      'NO_NODE',
      'Create it with 4 bytes, a big-endian integer',
    ],
    ({ client, path }) => new InterProcessSemaphore(client, path, { sharedCount: `${path}-count` }).acquire(),
  ),
  mistake(
    'a shared count as a text',
    ({ path }) => [
      requestFailed,
      `The shared count ${path}-count cannot be read`,
      'got 2 bytes',
      'Expected 4 bytes, a big-endian integer',
    ],
    async ({ client, path, lab }) => {
      await lab.observer.create(path.slice(0, path.lastIndexOf('/')));
      await lab.observer.create(`${path}-count`);
      await lab.observer.write(`${path}-count`, '30');
      return new InterProcessSemaphore(client, path, { sharedCount: `${path}-count` }).acquire();
    },
  ),
  mistake(
    'a deleted znode, and a retry policy that allows no retry',
    ({ path }) => [
      requestFailed,
      `The lock ${path} cannot be acquired`,
      'another client deleted it',
      'the retryPolicy allows no further try',
    ],
    async ({ connect, other, path, lab, defer }) => {
      const hold = await new InterProcessMutex(other, path).acquire();
      defer(() => hold.release());
      const mutex = new InterProcessMutex(
        await connect({ retryPolicy: { allowRetry: () => ({ retry: false }) } }),
        path,
      );
      const queued = new Promise<{ path: string }>((resolve) => mutex.once('queued', resolve));
      const waiting = mutex.acquire();
      waiting.catch(() => undefined);
      await lab.observer.remove((await queued).path);
      return waiting;
    },
  ),
  mistake(
    'an acquire by a client that was closed',
    ({ path }) => [
      closed,
      'The client is closed',
      `the lock ${path} cannot be acquired`,
      'Use another client, from LockClient.connect()',
    ],
    async ({ connect, path }) => {
      const client = await connect();
      await client.close();
      return new InterProcessMutex(client, path).acquire();
    },
  ),
  mistake(
    'a client that is closed while an acquire waits',
    ({ path }) => [
      closed,
      'The client is closed',
      `the lock ${path} cannot be used any more`,
      'Use another client, from LockClient.connect()',
    ],
    async (at) => {
      await heldByOther(at);
      const client = await at.connect();
      const waiting = new InterProcessMutex(client, at.path).acquire();
      waiting.catch(() => undefined);
      await client.close();
      return waiting;
    },
  ),
];
