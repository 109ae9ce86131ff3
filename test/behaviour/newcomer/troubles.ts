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
import type { Mistake, Fixture } from './mistake.ts';

const timedOut = { is: 'LockTimeoutError', code: 'ERR_LOCK_TIMEOUT' } as const;
const connectionTimeout = { is: 'ConnectionTimeoutError', code: 'ERR_LOCK_CONNECTION_TIMEOUT' } as const;
const requestFailed = { is: 'RequestFailedError', code: 'ERR_LOCK_REQUEST_FAILED' } as const;
const notOwned = { is: 'NotOwnedError', code: 'ERR_LOCK_NOT_OWNED' } as const;
const foreignNode = { is: 'ForeignNodeError', code: 'ERR_LOCK_FOREIGN_NODE' } as const;
const closed = { is: 'ClientClosedError', code: 'ERR_LOCK_CLIENT_CLOSED' } as const;
const invalidPath = { is: 'InvalidPathError', code: 'ERR_LOCK_INVALID_PATH' } as const;
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
  {
    done: 'connect() to a port without a listener',
    act: async () => connectBriefly(`127.0.0.1:${(await freePorts(1))[0]}`),
    answer: () => ({
      ...connectionTimeout,
      thing: /No ZooKeeper server of 127\.0\.0\.1:\d+ answered within 400 ms/,
      value: /last: connect ECONNREFUSED 127\.0\.0\.1:\d+/,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
  {
    done: 'connect() to three hosts that are down',
    act: async () => connectBriefly((await freePorts(3)).map((port) => `127.0.0.1:${port}`).join(',')),
    answer: () => ({
      ...connectionTimeout,
      thing: /No ZooKeeper server of (127\.0\.0\.1:\d+,){2}127\.0\.0\.1:\d+/,
      value: /last: (127\.0\.0\.1:(\d+): connect ECONNREFUSED 127\.0\.0\.1:\2(; )?){3}\./,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
  {
    done: 'connect() to two hosts, one down and one silent',
    act: async ({ defer }) => {
      const silent = await startSilentServer();
      defer(() => silent.close());
      // So long that the silent host leaves time for the other one.
      return connectBriefly(`127.0.0.1:${(await freePorts(1))[0]},${silent.connectString}`, 2_000);
    },
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: /: connect ECONNREFUSED .*; 127\.0\.0\.1:\d+: .*(did not answer within|has not answered yet)/,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
  {
    done: 'connect() to an unknown host',
    act: () => connectBriefly('no-such-host.invalid:2181'),
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of no-such-host.invalid:2181',
      value: /last: getaddrinfo \w+ no-such-host\.invalid/,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
  {
    done: 'connect() to a silent server',
    act: async ({ defer }) => {
      const silent = await startSilentServer();
      defer(() => silent.close());
      return LockClient.connect(silent.connectString, { connectionTimeoutMs: 400, sessionTimeoutMs: 2_400 });
    },
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: /last: 127\.0\.0\.1:\d+ did not answer within \d+ ms, the time of one attempt/,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
  {
    done: 'connect() to an HTTP server',
    act: async (at) =>
      connectBriefly(
        await listening(
          at,
          createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n')),
        ),
      ),
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: 'the answer begins with the text "HTTP"',
      todo: 'Is this the clientPort of a ZooKeeper server?',
    }),
  },
  {
    done: 'connect() to a TLS port that closes the connection',
    trouble: 'connect() to a server that closes the connection',
    act: async (at) => connectBriefly(await listening(at, createTlsServer())),
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: /last: (127\.0\.0\.1:\d+ closed the connection|read ECONNRESET|write EPIPE)/,
      todo: 'host and port are those of its clientPort',
    }),
  },
  {
    done: 'connect() with TLS to a server of an unknown authority',
    act: async (at) => {
      const [cert, key] = [readFileSync(keyFile('server', 'pem')), readFileSync(keyFile('server', 'key'))];
      return LockClient.connect(await listening(at, createTlsServer({ cert, key })), { tls: true });
    },
    answer: () => ({
      is: 'TlsError',
      code: 'ERR_LOCK_TLS',
      thing: /TLS with 127\.0\.0\.1:\d+ failed/,
      value: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      todo: "Give that authority's certificate in the option tls.ca",
    }),
  },
  {
    done: 'connect() to a TLS port that sends an alert',
    // Go's and Java's servers send a fatal alert, unexpected_message.
    act: async (at) =>
      connectBriefly(
        await listening(
          at,
          createServer((socket) => socket.resume().end(Buffer.of(21, 3, 1, 0, 2, 2, 10))),
        ),
      ),
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: 'the answer is TLS',
      todo: 'If this is the secureClientPort of a ZooKeeper server, set the option `tls`',
    }),
  },
  {
    done: 'connect() to a server that closes the connection',
    act: async (at) =>
      connectBriefly(
        await listening(
          at,
          createServer((socket) => socket.destroy()),
        ),
      ),
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: /last: (127\.0\.0\.1:\d+ closed the connection|read ECONNRESET|write EPIPE)/,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
  {
    done: 'connect() to a frozen server',
    trouble: 'connect() to a silent server',
    act: ({ lab, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return LockClient.connect(lab.connectString, { connectionTimeoutMs: 400, sessionTimeoutMs: 2_400 });
    },
    answer: () => ({
      ...connectionTimeout,
      thing: 'No ZooKeeper server of',
      value: /last: 127\.0\.0\.1:\d+ did not answer within \d+ ms/,
      todo: 'Check that ZooKeeper runs there',
    }),
  },
];

const secret = 'open sesame';

/** A lock of Alice that no other account may use. */
async function guarded({ path, connect }: Fixture): Promise<void> {
  const alice = await connect({ auth: [digest(`alice:${secret}`)], acl: creatorOnly });
  await new InterProcessMutex(alice, path).acquire();
}

/** Missing permissions. */
export const permissions: readonly Mistake[] = [
  {
    done: 'credentials with a misspelt scheme',
    act: ({ connect }) => connect({ auth: [{ scheme: 'digst', credentials: `alice:${secret}` }] }),
    answer: () => ({
      is: 'AuthFailedError',
      code: 'ERR_LOCK_AUTH_FAILED',
      thing: /The servers 127\.0\.0\.1:\d+ refused the credentials/,
      value: 'of scheme "digst"',
      todo: 'Check the option `auth`: the servers must know the scheme ("digest" is built in)',
      secret,
    }),
  },
  {
    done: 'an acl of a scheme that is misspelt',
    act: async ({ connect, path }) =>
      new InterProcessMutex(
        await connect({ acl: [{ permissions: 31, scheme: 'digst', id: 'alice' }] }),
        path,
      ).acquire(),
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The lock ${path} cannot be acquired: INVALID_ACL`,
      value: 'they do not know one of its schemes ("digst")',
      todo: 'the servers refused the option `acl`',
    }),
  },
  {
    done: 'a wrong password, reported by acquire()',
    act: async (at) => {
      await guarded(at);
      return new InterProcessMutex(
        await at.connect({ auth: [digest('alice:open barley')], acl: creatorOnly }),
        at.path,
      ).acquire();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The lock ${path} cannot be acquired: NO_AUTH`,
      value: `the account digest "alice" may not create below ${path}`,
      todo: /A wrong password shows only here, .*check the option `auth`/,
      secret: 'open barley',
    }),
  },
  {
    done: 'a wrong password, reported by participants()',
    act: async (at) => {
      await guarded(at);
      return new InterProcessMutex(await at.connect({ auth: [digest('alice:open barley')] }), at.path).participants();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The participants of ${path} cannot be read: NO_AUTH`,
      value: `the account digest "alice" may not read ${path}`,
      todo: 'check the option `auth`',
      secret: 'open barley',
    }),
  },
  {
    done: 'no account, reported by acquire()',
    act: async (at) => {
      await guarded(at);
      return new InterProcessMutex(at.client, at.path).acquire();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The lock ${path} cannot be acquired: NO_AUTH`,
      value: `a client without the option \`auth\` may not create below ${path}`,
      todo: `Ask who owns ${path} for that permission`,
    }),
  },
  {
    done: 'no account, reported by tryAcquire()',
    act: async (at) => {
      await guarded(at);
      return new InterProcessMutex(at.client, at.path).tryAcquire();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The lock ${path} cannot be acquired: NO_AUTH`,
      value: `a client without the option \`auth\` may not read ${path}`,
      todo: `Ask who owns ${path} for that permission`,
    }),
  },
  {
    done: 'no account, reported by watchQueue()',
    act: async (at) => {
      await guarded(at);
      return watchQueue(at.client, at.path).next();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The queue of ${path} cannot be watched: NO_AUTH`,
      value: `may not read ${path}`,
      todo: `Ask who owns ${path} for that permission`,
    }),
  },
  {
    done: 'no account, reported by forceRelease()',
    act: async (at) => {
      await guarded(at);
      const alice = await at.connect({ auth: [digest(`alice:${secret}`)] });
      const [holder] = await new InterProcessMutex(alice, at.path).participants();
      return forceRelease(at.client, holder?.path ?? '');
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: new RegExp(`${path}/_c_\\S+ cannot be released by force: NO_AUTH`),
      value: new RegExp(`may not write ${path}/_c_`),
      todo: 'for that permission',
    }),
  },
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
  {
    done: 'a wait for a lock that another process holds',
    act: async (at) => {
      await heldByOther(at);
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: new RegExp(
        `: 1 participant is ahead in the queue; the lock is held by host [\\d.]+ \\(session 0x[0-9a-f]+\\), in the queue since ${isoTime}`,
      ),
      todo: 'Wait longer, or find the holder with participants()',
    }),
  },
  {
    done: 'a wait for a lock whose holder names itself in its data',
    act: async (at) => {
      await heldByOther(at, 'owner');
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: new RegExp(`held by host \\S+, pid ${process.pid} \\(session`),
      todo: 'Wait longer, or find the holder with participants()',
    }),
  },
  {
    done: 'a wait behind four others',
    act: async (at) => {
      const others: Promise<unknown>[] = [];
      at.defer(() => Promise.all(others));
      await heldByOther(at);
      const waiting = new InterProcessMutex(at.other, at.path);
      for (let count = 0; count < 3; count += 1)
        others.push(waiting.tryAcquire(10_000).then((hold) => hold?.release()));
      await until('the others are queued', async () => (await waiting.participants()).length === 4);
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: ': 4 participants are ahead in the queue',
      todo: 'Wait longer',
    }),
  },
  {
    done: 'one try at a lock that another process holds',
    act: async (at) => {
      await heldByOther(at);
      return new InterProcessMutex(at.client, at.path).withLock(() => undefined, { timeoutMs: 0 });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within 0 ms`,
      value: 'others hold the lock, or are ahead in the queue',
      todo: 'Wait longer',
    }),
  },
  {
    done: 'a wait for a semaphore without free leases',
    trouble: 'one try at a lock that another process holds',
    act: async ({ client, other, path, defer }) => {
      const lease = await new InterProcessSemaphore(other, path, { maxLeases: 1 }).acquire();
      defer(() => lease.release());
      return new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: 'others hold the lock',
      todo: 'Wait longer',
    }),
  },
  {
    done: 'a wait for a multi-lock with one held lock',
    trouble: 'a wait for a lock that another process holds',
    act: async (at) => {
      await heldByOther(at);
      const locks = [new InterProcessMutex(at.client, at.path), new InterProcessMutex(at.client, `${at.path}-second`)];
      return new InterProcessMultiLock(locks).acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: ': 1 participant is ahead in the queue',
      todo: 'Wait longer',
    }),
  },
  {
    done: 'a forgotten release()',
    act: async ({ client, path, defer }) => {
      const forgotten = await new InterProcessMutex(client, path).acquire();
      defer(() => forgotten.release());
      return new InterProcessMutex(client, path).acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: new RegExp(`: the lock is held by this process since ${isoTime} with ${path}/_c_`),
      todo: 'Was `release()` forgotten? Use withLock or await using',
    }),
  },
  {
    done: 'a forgotten release(), reported to the third waiter',
    act: async ({ client, path, defer }) => {
      const mutex = new InterProcessMutex(client, path);
      const forgotten = await mutex.acquire();
      const waiting = [1, 2].map(() => mutex.tryAcquire(10_000).then((hold) => hold?.release()));
      defer(async () => {
        await forgotten.release();
        await Promise.all(waiting);
      });
      return mutex.acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path}`,
      value: /held by this process since \S+ with \S+; 3 participants are ahead in the queue/,
      todo: 'Was `release()` forgotten?',
    }),
  },
  {
    done: 'forgotten leases of a semaphore',
    act: async ({ client, path, defer }) => {
      const semaphore = new InterProcessSemaphore(client, path, { maxLeases: 2 });
      const leases = await semaphore.acquireMany(2);
      defer(() => Promise.all(leases.map((lease) => lease.release())));
      return semaphore.acquire({ timeoutMs: learnMs });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path}`,
      value: new RegExp(`held by this process 2 times, the longest since ${isoTime} with ${path}/leases/_c_`),
      todo: 'Was `release()` forgotten?',
    }),
  },
  {
    done: 'an inner job that waits for its outer job’s lock, with a timeout',
    act: ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.acquire({ timeoutMs: learnMs })));
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within ${learnMs} ms`,
      value: new RegExp(`a function around this call holds the lock since ${isoTime}, as another owner`),
      todo: 'Acquire the lock in the lock context that holds it, which re-enters, or release that hold first',
    }),
  },
  {
    done: 'one try of an inner job at its outer job’s lock',
    trouble: 'an inner job that waits for its outer job’s lock, with a timeout',
    act: ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.acquire({ timeoutMs: 0 })));
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within 0 ms`,
      value: 'a function around this call holds the lock',
      todo: 'or release that hold first',
    }),
  },
  {
    done: 'an inner job that waits for its outer job’s lock, without a timeout',
    act: ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.acquire()));
    },
    answer: ({ path }) => ({
      ...deadlock,
      thing: `The lock ${path}`,
      value: 'held by a function around this call, as another owner',
      todo: 'Acquire the lock in the lock context that holds it, which re-enters',
    }),
  },
  {
    done: 'an upgrade from reading to writing, with a timeout',
    act: ({ client, path }) => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
      return readLock.withLock(() => writeLock.acquire({ timeoutMs: learnMs }));
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path}`,
      value: 'this flow holds the lock for reading since',
      todo: 'Release the read lock first',
    }),
  },
  {
    done: 'an upgrade from reading to writing, without a timeout',
    act: ({ client, path }) => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
      return readLock.withLock(() => writeLock.acquire());
    },
    answer: ({ path }) => ({
      ...deadlock,
      thing: `The lock ${path}`,
      value: 'is held for reading in this flow',
      todo: 'Release the read lock first',
    }),
  },
  {
    done: 'a wait while no server can be reached',
    act: async (at) => {
      await cutOff(at);
      return new InterProcessMutex(at.client, at.path).acquire({ timeoutMs: 1_200 });
    },
    answer: ({ path, lab }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within 1200 ms`,
      value: new RegExp(
        `: no server has answered for [1-9]\\d*\\.\\d s; last: connect ECONNREFUSED ${lab.proxy.connectString}`,
      ),
      todo: 'Check that the servers run, and that this host can reach them',
    }),
  },
  {
    done: 'a wait while the server is frozen',
    act: async ({ lab, client, path, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return new InterProcessMutex(client, path).acquire({ timeoutMs: 1_200 });
    },
    answer: ({ path, lab }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within 1200 ms`,
      value: new RegExp(
        `: no server has answered for [1-9]\\d*\\.\\d s; last: ${lab.proxy.connectString} is connected, but does not answer`,
      ),
      todo: 'Check that the servers run',
    }),
  },
  {
    done: 'a wait behind another process while the servers go down',
    act: async (at) => {
      await heldByOther(at);
      const mutex = new InterProcessMutex(at.client, at.path);
      const queued = new Promise((resolve) => mutex.once('queued', resolve));
      const waiting = mutex.acquire({ timeoutMs: 3_000 });
      waiting.catch(() => undefined);
      await queued;
      await cutOff(at);
      return waiting;
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within 3000 ms`,
      value: /no server has answered for .*ECONNREFUSED.*\. Before that, 1 participant was ahead in the queue/,
      todo: 'Check that the servers run',
    }),
  },
  {
    done: 'a timeout shorter than a reply takes',
    act: async ({ lab, client, path, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return new InterProcessMutex(client, path).acquire({ timeoutMs: 20 });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The lock ${path} was not acquired within 20 ms`,
      value: /no server has answered for \d+ ms; last: \S+ is connected, but does not answer/,
      todo: 'Give the call more time than an answer takes',
    }),
  },
  {
    done: 'a query while the server is frozen',
    act: async ({ lab, client, path, defer }) => {
      lab.server.pause();
      defer(() => lab.server.resume());
      return new InterProcessMutex(client, path).participants({ timeoutMs: 1_200 });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The participants of ${path} were not read within 1200 ms`,
      value: /no server has answered for [1-9]\d*\.\d s/,
      todo: 'Check that the servers run',
    }),
  },
  {
    done: 'a query for the holder while no server can be reached',
    act: async (at) => {
      await cutOff(at);
      return new InterProcessMutex(at.client, at.path).holder({ timeoutMs: 1_200 });
    },
    answer: ({ path }) => ({
      ...timedOut,
      thing: `The holder of ${path} was not read within 1200 ms`,
      value: /no server has answered for [1-9]\d*\.\d s; last: connect ECONNREFUSED/,
      todo: 'Check that the servers run',
    }),
  },
];

/** Locks that are not held, znodes that do not exist, and znodes in the way. */
export const others: readonly Mistake[] = [
  {
    done: 'mutex.release() of a lock that is not held',
    act: ({ client, path }) => new InterProcessMutex(client, path).release(),
    answer: ({ path }) => ({
      ...notOwned,
      thing: `You do not own the lock: ${path}`,
      value: 'of the lock context in which it is called',
      todo: 'Prefer hold.release()',
    }),
  },
  {
    done: 'mutex.release() outside of the context that holds it',
    trouble: 'mutex.release() of a lock that is not held',
    act: ({ client, path }) => {
      const mutex = new InterProcessMutex(client, path);
      return mutex.withLock(() => lockContext.run(() => mutex.release()));
    },
    answer: ({ path }) => ({
      ...notOwned,
      thing: `You do not own the lock: ${path}`,
      value: 'of the lock context in which it is called',
      todo: 'Prefer hold.release()',
    }),
  },
  {
    done: 'release() of a semaphore mutex that is not held',
    act: ({ client, path }) => new InterProcessSemaphoreMutex(client, path).release(),
    answer: ({ path }) => ({
      ...notOwned,
      thing: `Not acquired: ${path}`,
      value: 'that was acquired by this object and is not held by withLock, and there is no such hold',
      todo: 'Prefer hold.release()',
    }),
  },
  {
    done: 'assertValid() after a release',
    act: async ({ client, path }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      await hold.release();
      hold.assertValid();
    },
    answer: ({ path }) => ({
      ...notOwned,
      thing: `You do not own the lock: ${path}`,
      value: /released [\d.]+ m?s ago$/,
      todo: 'this hold was released',
    }),
  },
  {
    done: 'assertValid() of a multi-lock after a release',
    act: async ({ client, path }) => {
      const hold = await new InterProcessMultiLock([
        new InterProcessMutex(client, path),
        new InterProcessMutex(client, `${path}-second`),
      ]).acquire();
      await hold.release();
      hold.assertValid();
    },
    answer: ({ path }) => ({
      ...notOwned,
      thing: `You do not own the lock: ${path}, ${path}-second`,
      value: /released [\d.]+ m?s ago$/,
      todo: 'this hold was released',
    }),
  },
  {
    done: 'renew() after a release',
    act: async ({ client, path }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      await hold.release();
      hold.renew(5_000);
    },
    answer: ({ path }) => ({
      ...notOwned,
      thing: `You do not own the lock: ${path}`,
      value: /it ended [\d.]+ m?s ago, when it was released$/,
      todo: 'it cannot be renewed for 5000 ms',
    }),
  },
  {
    done: 'a transaction with a time to live on a server that allows none',
    act: async ({ client, path }) => {
      await using hold = await new InterProcessMutex(client, path).acquire();
      const options = { mode: 'persistent-with-ttl', ttlMs: 1_000 } as const;
      await hold.transaction().create(`${path}-short`, undefined, options).commit();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `because of operation 0, create("${path}-short")`,
      value: 'UNIMPLEMENTED (-6) from createTTL',
      todo: 'Start each of them with -Dzookeeper.extendedTypesEnabled=true, or use another `mode`',
    }),
  },
  {
    done: 'a time to live of a mode without one',
    act: async ({ client, path }) => {
      await using hold = await new InterProcessMutex(client, path).acquire();
      hold.transaction().create(`${path}-short`, undefined, { ttlMs: 1_000 });
    },
    answer: () => ({
      is: 'TypeError',
      thing: '`ttlMs`',
      value: "got 1000: the mode 'persistent' has no time to live",
      todo: 'left out',
    }),
  },
  {
    done: 'a mutex on the path above a lock that is held',
    act: async ({ client, path, defer }) => {
      const below = await new InterProcessMutex(client, `${path}/b`).acquire();
      defer(() => below.release());
      return new InterProcessMutex(client, path).acquire();
    },
    answer: ({ path }) => ({
      ...foreignNode,
      thing: `The lock ${path} has children that this kind of lock did not create`,
      value: 'create: b. They may be another lock, which may be held',
      todo: "a lock's path must not be the parent of another lock",
    }),
  },
  {
    done: 'a mutex on the path of a semaphore',
    act: async ({ client, path, defer }) => {
      const lease = await new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire();
      defer(() => lease.release());
      return new InterProcessMutex(client, path).acquire();
    },
    answer: ({ path }) => ({
      ...foreignNode,
      thing: `The lock ${path}`,
      value: /create: (locks, leases|leases, locks)\./,
      todo: 'Use another path',
    }),
  },
  {
    done: 'a semaphore on the path of a mutex',
    trouble: 'a mutex on the path of a lock of another kind',
    act: async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire();
    },
    answer: ({ path }) => ({
      ...foreignNode,
      thing: `The lock ${path}`,
      value: /create: _c_\S+-lock-\d+/,
      todo: 'Use another path',
    }),
  },
  {
    done: "a lock below a holder's znode",
    act: async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return new InterProcessMutex(client, `${hold.path}/inner`).acquire();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: new RegExp(`The lock ${path}/_c_\\S+/inner cannot be acquired: NO_CHILDREN_FOR_EPHEMERALS`),
      value: 'belongs to a session',
      todo: 'Use a path that is not below another lock',
    }),
  },
  {
    done: 'forceRelease() of a lock path',
    act: async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return forceRelease(client, path);
    },
    answer: ({ path }) => ({
      ...invalidPath,
      thing: `Invalid path "${path}"`,
      value: 'no session owns this znode',
      todo: 'Pass the path of a participant, such as (await mutex.participants())[0].path',
    }),
  },
  {
    done: 'revoke() of a lock path',
    trouble: 'forceRelease() of a lock path',
    act: async ({ client, path, defer }) => {
      const hold = await new InterProcessMutex(client, path).acquire();
      defer(() => hold.release());
      return revoke(client, path);
    },
    answer: ({ path }) => ({
      ...invalidPath,
      thing: `Invalid path "${path}"`,
      value: 'no session owns this znode',
      todo: 'Pass the path of a participant',
    }),
  },
  {
    done: 'forceRelease() of a participant that does not exist',
    act: ({ client, path }) => forceRelease(client, path),
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `${path} cannot be released by force`,
      value: 'because it does not exist',
      todo: 'NO_NODE',
    }),
  },
  {
    done: 'a shared count that does not exist',
    act: ({ client, path }) => new InterProcessSemaphore(client, path, { sharedCount: `${path}-count` }).acquire(),
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The shared count ${path}-count cannot be read`,
      value: 'NO_NODE',
      todo: 'Create it with 4 bytes, a big-endian integer',
    }),
  },
  {
    done: 'a shared count as a text',
    act: async ({ client, path, lab }) => {
      await lab.observer.create(path.slice(0, path.lastIndexOf('/')));
      await lab.observer.create(`${path}-count`);
      await lab.observer.write(`${path}-count`, '30');
      return new InterProcessSemaphore(client, path, { sharedCount: `${path}-count` }).acquire();
    },
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The shared count ${path}-count cannot be read`,
      value: 'got 2 bytes',
      todo: 'Expected 4 bytes, a big-endian integer',
    }),
  },
  {
    done: 'a deleted znode, and a retry policy that allows no retry',
    act: async ({ connect, other, path, lab, defer }) => {
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
    answer: ({ path }) => ({
      ...requestFailed,
      thing: `The lock ${path} cannot be acquired`,
      value: 'another client deleted the znode of this waiter',
      todo: 'the retryPolicy allows no further try',
    }),
  },
  {
    done: 'an acquire by a client that was closed',
    act: async ({ connect, path }) => {
      const client = await connect();
      await client.close();
      return new InterProcessMutex(client, path).acquire();
    },
    answer: ({ path }) => ({
      ...closed,
      thing: 'The client is closed',
      value: `the lock ${path} cannot be acquired`,
      todo: 'Use another client, from LockClient.connect()',
    }),
  },
  {
    done: 'a client that is closed while an acquire waits',
    act: async (at) => {
      await heldByOther(at);
      const client = await at.connect();
      const waiting = new InterProcessMutex(client, at.path).acquire();
      waiting.catch(() => undefined);
      await client.close();
      return waiting;
    },
    answer: ({ path }) => ({
      ...closed,
      thing: 'The client is closed',
      value: `the lock ${path} cannot be used any more`,
      todo: 'Use another client, from LockClient.connect()',
    }),
  },
];
