import { expect } from 'chai';
import { forceRelease, InterProcessMutex, InterProcessReadWriteLock, revoke, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { peersOfSuite } from '../../lab/programs/interop/peers.ts';
import { queueReaches } from '../../lab/queue.ts';

describe('revocation between Node and Java Curator', () => {
  const lab = labOfEachTest('revocation');
  const suite = peersOfSuite('java');

  for (const kind of ['mutex', 'write', 'read']) {
    const ourLock = (): InterProcessMutex => {
      if (kind === 'mutex') return new InterProcessMutex(lab.client, lab.path);
      const rw = new InterProcessReadWriteLock(lab.client, lab.path);
      return kind === 'write' ? rw.writeLock : rw.readLock;
    };

    it(`Java holds a ${kind} lock, gets our request, and releases`, async () => {
      const thread = suite.java.owner('main');
      await thread.makeRevocable(kind, lab.path);
      await thread.acquire(kind, lab.path);
      const [holder] = await ourLock().participants();
      const asked = suite.java.told(({ event, path: which }) => event === 'revoked' && which === lab.path);
      await revoke(lab.client, holder?.path ?? '');
      await asked;
      await thread.release(kind, lab.path);
      expect(await ourLock().participants()).to.deep.equal([]);
    });

    it(`our holder of a ${kind} lock gets the request of Java, and releases`, async () => {
      const lock = ourLock();
      const asked = new Promise<Hold>((resolve) => lock.makeRevocable(resolve));
      const hold = await lock.acquire();
      await suite.java.owner('main').revoke(hold.path);
      expect(await asked).to.equal(hold);
      expect([hold.isValid, await hold.release()]).to.deep.equal([true, 'released']);
    });
  }

  it('a holder that is asked releases to the other one: each in turn', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path);
    const thread = suite.java.owner('main');
    mutex.makeRevocable((hold) => hold.release());
    const hold = await mutex.acquire();
    await thread.makeRevocable('mutex', lab.path);
    const theirs = thread.acquire('mutex', lab.path);
    await queueReaches(mutex, 2);
    await suite.java.owner('asker').revoke(hold.path);
    const asked = suite.java.told(({ event }) => event === 'revoked');
    const ours = mutex.acquire();
    await revoke(lab.client, String(await theirs));
    await asked;
    await thread.release('mutex', lab.path);
    await (await ours).release();
  });

  it('a lock taken from Java by force is granted to us, and Java does not notice: its thread goes on as an owner', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path);
    const thread = suite.java.owner('main');
    const node = await thread.acquire('mutex', lab.path);
    const ours = mutex.acquire();
    await queueReaches(mutex, 2);
    expect(await forceRelease(lab.client, String(node), { timeoutMs: 1_000 })).to.equal('deleted');
    await using hold = await ours;
    expect([hold.isValid, await thread.isOwned('mutex', lab.path)]).to.deep.equal([true, true]);
    await thread.release('mutex', lab.path);
    expect(hold.isValid).to.equal(true);
  });
});
