import { expect } from 'chai';
import { InterProcessMutex, InvalidPathError, LockTimeoutError, lockContext } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueOf } from '../../lab/queue.ts';
import { rejection } from '../../lab/until.ts';

describe('client.lock', () => {
  const lab = labOfEachTest('client-lock');

  it('acquires the lock of the path until the end of the block', async () => {
    const { client, path, theirs } = lab;
    {
      await using hold = await client.lock(path);
      expect(await queueOf(theirs)).to.deep.equal([hold.path]);
      expect(new InterProcessMutex(client, path).isAcquiredInThisProcess).to.equal(true);
      expect(await theirs.tryAcquire()).to.equal(undefined);
    }
    expect(await queueOf(theirs)).to.deep.equal([]);
  });

  it('takes the options of acquire, and is one lock with the objects of its path', async () => {
    const { client, path, theirs } = lab;
    const taken = await theirs.acquire();
    expect(await rejection(client.lock(path, { timeoutMs: 50 }))).to.be.instanceOf(LockTimeoutError);
    await taken.release();
    await lockContext.run(async () => {
      await using outer = await client.lock(path, { data: Buffer.from('mine') });
      await using inner = await new InterProcessMutex(client, path).acquire();
      expect([inner.path, inner.isReentrant]).to.deep.equal([outer.path, true]);
    });
  });

  it('refuses a bad path, and another object than a client, before anything is sent', async () => {
    const { client } = lab;
    expect(await rejection(client.lock('locks/a'))).to.be.instanceOf(InvalidPathError);
    const { lock } = client;
    expect(await rejection(lock('/locks/a')))
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.includes('client.lock(path)');
  });
});
