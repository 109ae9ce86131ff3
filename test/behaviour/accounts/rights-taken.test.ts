import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  LeaderElection,
  watchQueue,
  type AclEntry,
  type Hold,
  type LockClient,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection, until } from '../../../lab/until.ts';
import { account, anyone, digest, digestId, permission } from '../../../lab/wire/account.ts';
import { setCount } from '../../../lab/semaphores.ts';
import { createParents } from '../field/support.ts';
import { setAcl } from '../operator/acl.ts';

const sessionTimeoutMs = 4_000;

const secret = 'reader:open sesame';
const onlyForReader: readonly AclEntry[] = [
  anyone(permission.all - permission.read),
  { permissions: permission.all, scheme: 'digest', id: digestId(secret) },
];

type Acquire = (client: LockClient, path: string) => Promise<Pick<Hold, 'path' | 'release'>>;

const kinds: Readonly<Record<string, Acquire>> = {
  mutex: (client, path) => new InterProcessMutex(client, path).acquire(),
  writer: (client, path) => new InterProcessReadWriteLock(client, path).writeLock.acquire(),
  weights: (client, path) => new InterProcessMutex(client, path, { weights: {} }).acquire(),
  lease: (client, path) => new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire(),
  candidate: (client, path) => new LeaderElection(client, path).campaign(),
};

describe('a client that loses the right to read a znode while it waits for an event of it', () => {
  const lab = labOfEachTest('rights', { server: 'own', client: { sessionTimeoutMs } });

  /** The acquire of `client`, when its znode is in the queue and its watches are planted. */
  const waiter = async (acquire: Acquire, path: string, queue = path): Promise<ReturnType<Acquire>[]> => {
    const waiting = acquire(lab.client, path);
    waiting.catch(() => undefined);
    await until('the waiter is in the queue', async () => (await lab.observer.children(queue)).length > 0);
    await lab.sleep(500);
    return [waiting];
  };

  for (const [kind, acquire] of Object.entries(kinds))
    it(`${kind}: gets the lock within two session timeouts after its predecessor has left`, async () => {
      const held = await acquire(lab.other, lab.path);
      const [waiting] = await waiter(acquire, lab.path);
      await setAcl(lab.other, held.path, 30);
      await held.release();
      const start = lab.now();
      await (await waiting)?.release();
      expect(lab.now() - start).to.be.at.most(2 * sessionTimeoutMs);
    });

  for (const [what, observed] of [
    ['queue', (path: string) => watchQueue(lab.client, path)],
    ['leader', (path: string) => new LeaderElection(lab.client, path).observe()],
  ] as const)
    it(`and observes a ${what}: fails within ten session timeouts, and does not show it as it was`, async () => {
      await using held = await new LeaderElection(lab.other, lab.path).campaign();
      const shown: AsyncGenerator = observed(lab.path);
      await shown.next();
      const failure = rejection(shown.next());
      await lab.sleep(500);
      await setAcl(lab.other, what === 'queue' ? lab.path : held.path, 30);
      const start = lab.now();
      expect(await failure).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(lab.now() - start).to.be.at.most(10.5 * sessionTimeoutMs);
    });

  it('gets one lock although the holder of another one stays, which it may not read either', async () => {
    const { mutex } = kinds as { mutex: Acquire };
    const [first, second] = [`${lab.path}-1`, `${lab.path}-2`];
    const held = [await mutex(lab.other, first), await mutex(lab.other, second)];
    // Both are asked for in one transaction, which fails at the first one.
    const [[waitingFirst], [waitingSecond]] = await Promise.all([waiter(mutex, first), waiter(mutex, second)]);
    for (const { path } of held) await setAcl(lab.other, path, 30);
    await held[1]?.release();
    const start = lab.now();
    await (await waitingSecond)?.release();
    expect(lab.now() - start).to.be.at.most(2 * sessionTimeoutMs);
    await held[0]?.release();
    await (await waitingFirst)?.release();
  });

  for (const use of ['idle', 'used again and again'])
    it(`gives up a sticky lock that is ${use} within two session timeouts after another client has queued up`, async () => {
      const mutex = new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 600_000 } });
      await mutex.withLock(() => lab.sleep(100));
      // Its question has been asked again by then, and must be asked once more.
      await lab.sleep(2.5 * sessionTimeoutMs);
      await using reader = await account(lab.connectString, { auth: [digest(secret)] });
      await reader.setAcl(lab.path, onlyForReader);
      const useAgain = async (): Promise<void> => {
        for (;;) await mutex.withLock(() => lab.sleep(20));
      };
      const failure = use === 'idle' ? undefined : rejection(useAgain());
      const start = lab.now();
      await using _hold = await new InterProcessMutex(reader.client, lab.path).acquire({
        timeoutMs: 10 * sessionTimeoutMs,
      });
      expect(lab.now() - start).to.be.at.most(2 * sessionTimeoutMs);
      // This process does not claim to know the queue any more.
      const error = await (failure ?? rejection(mutex.acquire()));
      expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(error.message).to.contain(`may not read ${lab.path}`);
    });

  it('fails within two session timeouts after a change of the shared count that it may not read any more', async () => {
    const sharedCount = `${lab.path}/count`;
    await using reader = await account(lab.connectString, { auth: [digest(secret)] });
    await createParents(lab.other, `${lab.path}/sibling`);
    await reader.create(sharedCount);
    await setCount(lab.other, sharedCount, 1);
    const leases = (client: LockClient): InterProcessSemaphore =>
      new InterProcessSemaphore(client, `${lab.path}/semaphore`, { sharedCount });
    await using _held = await leases(lab.other).acquire();
    const failure = rejection(leases(lab.client).acquire());
    await lab.sleep(500);
    await reader.setAcl(sharedCount, onlyForReader);
    await setCount(reader.client, sharedCount, 2);
    const start = lab.now();
    expect((await failure).message).to.contain(`The shared count ${sharedCount} cannot be read: NO_AUTH`);
    expect(lab.now() - start).to.be.at.most(2 * sessionTimeoutMs);
  });
});
