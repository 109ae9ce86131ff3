import { expect } from 'chai';
import { forceRelease, InterProcessMutex, InterProcessReadWriteLock, LockClient, revoke, type Hold } from '../../src/index.ts';
import { sharedZooKeeper } from '../support/hooks.ts';
import type { Peer } from '../support/interop/peer.ts';
import { ensurePeers, startJava } from '../support/interop/peers.ts';
import { testPath } from '../support/test-path.ts';
import { queueReaches } from '../integration/contexts/lock-of-each-test.ts';

describe('revocation between Node and Java Curator', () => {
  let java: Peer;
  let client: LockClient;
  let path: string;

  before(async function () {
    this.timeout(300_000);
    await ensurePeers();
    const { connectString } = await sharedZooKeeper();
    [java, client] = await Promise.all([startJava(), LockClient.connect(connectString)]);
  });

  beforeEach(() => {
    path = testPath('revocation');
  });

  after(() => Promise.all([java.close(), client.close()]));

  for (const kind of ['mutex', 'write', 'read']) {
    const ourLock = (): InterProcessMutex => {
      if (kind === 'mutex') return new InterProcessMutex(client, path);
      const rw = new InterProcessReadWriteLock(client, path);
      return kind === 'write' ? rw.writeLock : rw.readLock;
    };

    it(`Java, which holds a ${kind} lock, is asked by us, and lets go`, async () => {
      const thread = java.owner('main');
      await thread.makeRevocable(kind, path);
      await thread.acquire(kind, path);
      const [holder] = await ourLock().participants();
      const asked = java.told(({ event, path: which }) => event === 'revoked' && which === path);
      await revoke(client, holder?.path ?? '');
      await asked;
      await thread.release(kind, path);
      expect(await ourLock().participants()).to.deep.equal([]);
    });

    it(`we, who hold a ${kind} lock, are asked by Java, and let go`, async () => {
      const lock = ourLock();
      const asked = new Promise<Hold>((resolve) => lock.makeRevocable(resolve));
      const hold = await lock.acquire();
      await java.owner('main').revoke(hold.path);
      expect(await asked).to.equal(hold);
      expect([hold.isValid, await hold.release()]).to.deep.equal([true, 'released']);
    });
  }

  it('who is asked lets the other one in: each in turn', async () => {
    const mutex = new InterProcessMutex(client, path);
    const thread = java.owner('main');
    mutex.makeRevocable((hold) => hold.release());
    const hold = await mutex.acquire();
    await thread.makeRevocable('mutex', path);
    const theirs = thread.acquire('mutex', path);
    await queueReaches(mutex, 2);
    await java.owner('asker').revoke(hold.path);
    const asked = java.told(({ event }) => event === 'revoked');
    const ours = mutex.acquire();
    await revoke(client, String(await theirs));
    await asked;
    await thread.release('mutex', path);
    await (await ours).release();
  });

  it('what is taken from Java by force is granted to us, and Java is not told: its thread goes on as an owner', async () => {
    const mutex = new InterProcessMutex(client, path);
    const thread = java.owner('main');
    const node = await thread.acquire('mutex', path);
    const ours = mutex.acquire();
    await queueReaches(mutex, 2);
    expect(await forceRelease(client, String(node), { timeoutMs: 50 })).to.equal('deleted');
    const hold = await ours;
    expect([hold.isValid, await thread.isOwned('mutex', path)]).to.deep.equal([true, true]);
    await thread.release('mutex', path);
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });
});
