import { expect } from 'chai';
import { LockClient, type BackgroundEvent, type Hold } from '../../src/index.ts';
import { connectObserver, type Observer } from '../../lab/wire/observer.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, until } from '../../lab/until.ts';
import { startServer } from '../../lab/servers/zookeeper-server.ts';
import { mutex, readWrite, semaphore, weighted, type LockKind } from './lock-kinds.ts';

// The holds must outlive a restart of the server, also on a busy machine. A hold may have less than 40 % of the timeout
// left when the server ends.
const sessionTimeoutMs = 20_000;
const kinds: Readonly<Record<string, LockKind>> = {
  mutex,
  'read/write lock': readWrite,
  semaphore: semaphore(2),
  'mutex with weights': weighted,
};

/** The data with which the servers come back, after the locks were acquired and waiters queued up. */
const returns = [
  'nothing',
  'a backup from before the locks were there',
  'a backup in which the locks are held',
] as const;

describe('a waiter without a timeout acquires, and no znode is left, when the servers come back with', function () {
  this.timeout(180_000);
  const opened: LockClient[] = [];

  afterEach(() => Promise.all(opened.splice(0).map((client) => client.close({ timeoutMs: 0 }))));

  for (const what of returns)
    it(`${what}: ${Object.keys(kinds).join(', ')}`, async () => {
      await using server = await startServer();
      const connect = async (): Promise<LockClient> => {
        const client = await LockClient.connect(server.connectString, { sessionTimeoutMs });
        opened.push(client);
        return client;
      };
      const outside = await connectObserver(server.connectString);
      const holder = await connect();
      const waits = await Promise.all(
        Object.values(kinds).map(async (kind) => {
          const client = await connect();
          const ends: unknown[] = [];
          client.on('background', (event: BackgroundEvent) => event.type === 'session-ended' && ends.push(event.why));
          return { kind, path: testPath('older'), client, ends };
        }),
      );
      const clients = [holder, ...waits.map(({ client }) => client)];

      const backUp = async (): Promise<() => void> => {
        await server.kill();
        const restore = server.backUp();
        await server.start();
        const isBack = (): Promise<boolean> => outside.exists('/').catch(() => false);
        await until(
          'all are back',
          async () => (await isBack()) && clients.every(({ session }) => session.isConnected),
          20_000,
        );
        return restore;
      };
      let restore = what === returns[1] ? await backUp() : () => server.wipe();
      const held = (await Promise.all(waits.map(({ kind, path }) => kind.acquireAll(holder, path, {})))).flat();
      const waiting = waits.map(({ kind, path, client }) => kind.acquireAll(client, path, {}));
      for (const { kind, path, client } of waits)
        await until('it waits', () => hasZnode(outside, kind, path, client.session.id));
      if (what === returns[2]) restore = await backUp();
      const seen = Math.max(...clients.map(({ session }) => Number(session.connection.lastZxid)));
      await write(outside, 100);
      // A client that is quiet asks every third of its session timeout.
      await until(
        'all have seen transactions that the backup lacks',
        () => clients.every(({ session }) => session.connection.lastZxid > seen + 50),
        sessionTimeoutMs,
      );
      await outside[Symbol.asyncDispose]();
      expect(held.every((hold) => hold.isValid)).to.equal(true);

      await server.kill();
      restore();
      await server.start();
      const losses = await Promise.all(held.map((hold) => aborted(hold.signal)));
      expect(losses.map((reason) => (reason as { reason?: string }).reason)).to.deep.equal(
        held.map(() => 'session-deadline'),
      );
      await Promise.all(held.map((hold) => hold.release()));
      const next: Hold[] = (await Promise.all(waiting)).flat();
      expect(next.every((hold) => hold.isValid)).to.equal(true);
      // A waiter for leases holds the turn to create them.
      expect(waits.map(({ ends }) => ends)).to.deep.equal(
        waits.map(({ kind }) => [kind.folders.length > 1 ? 'lost' : 'replaced']),
      );
      await Promise.all(next.map((hold) => hold.release()));
      await Promise.all(waits.map(({ client }) => client.close()));

      await using after = await connectObserver(server.connectString);
      for (const { kind, path } of waits)
        await until(`${path} is empty`, async () => (await znodes(after, kind, path)) === 0);
    });
});

async function hasZnode(outside: Observer, kind: LockKind, path: string, owner: bigint): Promise<boolean> {
  const all = await Promise.all(kind.folders.map((folder) => outside.ephemerals(`${path}${folder}`)));
  return all.flat().some((znode) => znode.owner === owner);
}

async function znodes(outside: Observer, kind: LockKind, path: string): Promise<number> {
  const all = await Promise.all(kind.folders.map((folder) => outside.ephemerals(`${path}${folder}`)));
  return all.flat().length;
}

async function write(outside: Observer, times: number): Promise<void> {
  const path = testPath('').slice(0, -1);
  await outside.create(path);
  for (let left = times; left > 0; left -= 1) await outside.touch(path);
}
