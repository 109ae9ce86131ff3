import { expect } from 'chai';
import { lockContext, type Hold } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection, until } from '../../../lab/until.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';

describe('parallel first acquires of one context', () => {
  const lab = labOfEachTest('first-acquires');

  it('use one znode, and both are granted', async () => {
    await lockContext.run(async () => {
      const [first, second] = await Promise.all([lab.mutex.acquire(), lab.mutex.acquire()]);
      expect(second.path).to.equal(first.path);
      expect(await queueOf(lab.theirs)).to.deep.equal([first.path]);
      await first.release();
      expect(second.isValid).to.equal(true);
      await second.release();
      expect(await lab.observer.children(lab.mutex.path)).to.deep.equal([]);
    });
  });

  it('use one znode while they wait, and are granted together', async () => {
    const gateHold = await lab.theirs.acquire();
    await lockContext.run(async () => {
      const acquiring = Promise.all([
        lab.mutex.acquire(),
        lab.mutex.acquire(),
        lab.mutex.acquire({ timeoutMs: 60_000 }),
      ]);
      await queueReaches(lab.theirs, 2);
      expect((await queueOf(lab.theirs)).length).to.equal(2);
      await gateHold.release();
      const holds = await acquiring;
      expect(new Set(holds.map(({ path }) => path)).size).to.equal(1);
      expect(await queueOf(lab.theirs)).to.deep.equal([holds[0].path]);
      await Promise.all(holds.map((hold) => hold.release()));
    });
  });

  it('make a later withLock wait for them and then re-enter', async () => {
    await lockContext.run(async () => {
      const [hold, path] = await Promise.all([lab.mutex.acquire(), lab.mutex.withLock((inner) => inner.path)]);
      expect(path).to.equal(hold.path);
      expect(await queueOf(lab.theirs)).to.deep.equal([hold.path]);
      await hold.release();
    });
  });

  it('make a later tryAcquire return undefined, because it does not wait', async () => {
    await lockContext.run(async () => {
      const [hold, tried] = await Promise.all([lab.mutex.acquire(), lab.mutex.tryAcquire()]);
      expect(tried).to.equal(undefined);
      await hold.release();
    });
  });

  it('have separate deadlines: if the second gives up, it sends nothing', async () => {
    const gateHold = await lab.theirs.acquire();
    await lockContext.run(async () => {
      const first = lab.mutex.acquire();
      const controller = new AbortController();
      const aborted = rejection(lab.mutex.acquire({ signal: controller.signal }));
      const late = await rejection(lab.mutex.acquire({ timeoutMs: 1 }));
      expect(late.code).to.equal('ERR_LOCK_TIMEOUT');
      const reason = new Error('changed my mind');
      controller.abort(reason);
      expect(await aborted).to.equal(reason);
      await queueReaches(lab.theirs, 2);
      await gateHold.release();
      await (await first).release();
    });
  });

  it('do not fail together: if the first is aborted, the second gets the lock', async () => {
    const gateHold = await lab.theirs.acquire();
    await lockContext.run(async () => {
      const controller = new AbortController();
      const first = rejection(lab.mutex.acquire({ signal: controller.signal }));
      const others = Promise.all([lab.mutex.acquire(), lab.mutex.acquire()]);
      await queueReaches(lab.theirs, 2);
      const [, ofFirst] = await queueOf(lab.theirs);

      const reason = new Error('changed my mind');
      controller.abort(reason);
      expect(await first).to.equal(reason);
      await until('one of the other acquires waits instead', async () => {
        const queue = await queueOf(lab.theirs);
        return queue.length === 2 && queue[1] !== ofFirst;
      });
      await gateHold.release();
      const [second, third] = await others;
      expect(third.path).to.equal(second.path);
      expect(await queueOf(lab.theirs)).to.deep.equal([second.path]);
      await second.release();
      await third.release();
    });
  });

  it('do not fail together: when the first only tried, the second waits for its turn', async () => {
    const gateHold = await lab.theirs.acquire();
    await lockContext.run(async () => {
      const tried = lab.mutex.tryAcquire();
      const second = lab.mutex.acquire();
      expect(await tried).to.equal(undefined);
      await queueReaches(lab.theirs, 2);
      await gateHold.release();
      await (await second).release();
    });
  });

  it('do not wait once the first hold has been released', async () => {
    const tokens = await lockContext.run(async () => {
      const once = async (): Promise<bigint> => {
        const hold: Hold = await lab.mutex.acquire();
        await hold.release();
        return hold.fencingToken;
      };
      return [await once(), await once()] as const;
    });
    expect(tokens[1] > tokens[0]).to.equal(true);
  });
});
