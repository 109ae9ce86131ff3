import { expect } from 'chai';
import { InterProcessMutex, InterProcessSemaphore, type InterProcessSemaphoreOptions } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, setCount, setData, waits } from '../../../lab/semaphores.ts';

describe('the limit of a semaphore', () => {
  const lab = labOfEachTest('limits');

  describe('by a shared count', () => {
    let count: string;

    beforeEach(async () => {
      count = testPath('count');
      await lab.observer.create(count.slice(0, -'/count'.length));
      await lab.observer.create(count);
      await setCount(lab.client, count, 1);
    });

    const shared = (): InterProcessSemaphore => new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });

    it('grows: a waiter is granted at once', async () => {
      const first = await shared().acquire();
      const waiting = shared().acquire();
      await waits(lab.observer, lab.path, 2);
      await setCount(lab.other, count, 2);
      const second = await waiting;
      expect([first.isValid, second.isValid]).to.deep.equal([true, true]);
      await returnAll([first, second]);
    });

    it('shrinks: holders keep their leases, and a waiter is granted with fewer left', async () => {
      await setCount(lab.client, count, 2);
      const [first, second] = await shared().acquireMany(2);
      await setCount(lab.client, count, 1);
      const waiting = shared().acquire();
      await waits(lab.observer, lab.path, 3);
      await first?.release();
      expect(await shared().tryAcquire()).to.equal(undefined);
      await second?.release();
      await (await waiting).release();
    });

    it('grants no lease below one, until it is raised', async () => {
      await setCount(lab.client, count, 0);
      expect(await shared().tryAcquire()).to.equal(undefined);
      const waiting = shared().acquire();
      await waits(lab.observer, lab.path, 1);
      await setCount(lab.client, count, 1);
      await (await waiting).release();
    });

    it('is not told by a timeout that has not read it, although `holders()` has', async () => {
      const semaphore = shared();
      expect(await semaphore.holders()).to.deep.equal([]);
      await setCount(lab.client, count, 5);
      const turn = await new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
      const { message } = await rejection(semaphore.acquireMany(3, { timeoutMs: 300 }));
      expect(message).to.not.include('count');
      await turn.release();
    });

    it('shows no holders below one', async () => {
      await setCount(lab.client, count, 2);
      const leases = await shared().acquireMany(2);
      const holdersAt = async (number: number): Promise<number> => {
        await setCount(lab.client, count, number);
        return (await shared().holders()).length;
      };
      expect([await holdersAt(1), await holdersAt(0), await holdersAt(-1)]).to.deep.equal([1, 0, 0]);
      await returnAll(leases);
    });

    it('is an error that names the count if it does not exist or is not a number', async () => {
      const missing = await rejection(
        new InterProcessSemaphore(lab.client, lab.path, { sharedCount: '/no/such/count' }).acquire(),
      );
      expect(missing).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(missing.message).to.contain('/no/such/count').and.to.contain('NO_NODE');
      await setData(lab.client, count, Buffer.from('twelve'));
      const wrong = await rejection(shared().acquire());
      expect(wrong).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      expect(wrong.message).to.contain(count).and.to.contain('got 6 bytes');
      expect(await rejection(shared().tryAcquire())).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      await isEmpty(lab.observer, lab.path);
    });

    it('ends the wait with an error if the count is deleted, and leaves no znode', async () => {
      await using _first = await shared().acquire();
      const waiting = rejection(shared().acquire());
      await waits(lab.observer, lab.path, 2);
      await lab.observer.remove(count);
      expect(await waiting).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    });

    it('conflicts with a fixed maximum on the same path', async () => {
      await using _lease = await shared().acquire();
      expect((await rejection(semaphoreOf(lab.client, lab.path, 1).acquire())).message)
        .to.contain(`sharedCount: '${count}'`)
        .and.to.contain('maxLeases: 1');
    });
  });

  it('must be the same within one client, as long as the path is in use', async () => {
    const lease = await semaphoreOf(lab.client, lab.path, 2).acquire();
    const error = await rejection(semaphoreOf(lab.client, lab.path, 3).acquire());
    expect(error).to.be.instanceOf(RangeError);
    expect(error.message).to.equal(
      `Expected the semaphore ${lab.path} to have { maxLeases: 2 }, as another object of this client uses it, got { maxLeases: 3 }`,
    );
    await lease.release();
    await (await semaphoreOf(lab.client, lab.path, 3).acquire()).release();
  });

  it('may be another one after several leases were released', async () => {
    await returnAll(await semaphoreOf(lab.client, lab.path, 2).acquireMany(2));
    await (await semaphoreOf(lab.client, lab.path, 3).acquire()).release();
  });

  it('is a warning, once for each path, when there are more leases', async () => {
    const warnings: string[] = [];
    lab.client.on('background', (event) => event.type === 'warning' && warnings.push(event.message));
    const theirs = await semaphoreOf(lab.other, lab.path, 3).acquireMany(3);
    for (let call = 0; call < 2; call += 1) {
      const waiting = rejection(semaphoreOf(lab.client, lab.path, 2).acquire({ timeoutMs: 1_000 }));
      expect(await waiting).to.have.property('code', 'ERR_LOCK_TIMEOUT');
    }
    expect(warnings).to.have.length(1);
    expect(warnings[0])
      .to.contain(`The semaphore ${lab.path} has { maxLeases: 2 }`)
      .and.to.contain('3 leases')
      .and.to.contain('Use the same maxLeases');
    await crowd(lab.observer, lab.path, { leases: 3, locks: 0 });
    const waiting = semaphoreOf(lab.client, lab.path, 2).acquire();
    await waits(lab.observer, lab.path, 4);
    await returnAll(theirs);
    await (await waiting).release();
  });

  it('is no warning while there are not more leases', async () => {
    const warnings: unknown[] = [];
    lab.client.on('background', (event) => event.type === 'warning' && warnings.push(event));
    const theirs = await semaphoreOf(lab.other, lab.path, 2).acquireMany(2);
    const waiting = semaphoreOf(lab.client, lab.path, 2).acquire();
    await waits(lab.observer, lab.path, 3);
    await returnAll(theirs);
    await (await waiting).release();
    expect(warnings).to.deep.equal([]);
  });

  describe('with invalid input', () => {
    for (const [options, text] of [
      [{ maxLeases: 0 }, 'Expected `maxLeases` to be an integer ≥ 1, got 0'],
      [{ maxLeases: -1 }, 'Expected `maxLeases` to be an integer ≥ 1, got -1'],
      [{ maxLeases: 1.5 }, 'Expected `maxLeases` to be an integer ≥ 1, got 1.5'],
      [{ maxLeases: '3' }, 'Expected `maxLeases` to be an integer ≥ 1, got "3"'],
      [{}, 'Expected either `maxLeases` or `sharedCount`'],
      [{ maxLeases: 1, sharedCount: '/a' }, 'Expected either `maxLeases` or `sharedCount`'],
      [{ sharedCount: 'a' }, 'Path must start with / character'],
      [{ leases: 3 }, 'Unknown option `leases` of InterProcessSemaphore'],
      [undefined, 'Expected `InterProcessSemaphore options` to be a plain object'],
    ] as const)
      it(`is refused: ${JSON.stringify(options)}`, () => {
        expect(
          () => new InterProcessSemaphore(lab.client, '/a', options as unknown as InterProcessSemaphoreOptions),
        ).to.throw(text);
      });

    for (const [quantity, type, text] of [
      [0, RangeError, 'an integer ≥ 1, got 0'],
      [-2, RangeError, 'an integer ≥ 1, got -2'],
      [1.5, RangeError, 'an integer ≥ 1, got 1.5'],
      [NaN, RangeError, 'an integer ≥ 1, got NaN'],
      ['2', TypeError, 'an integer ≥ 1, got "2"'],
      [4, RangeError, 'at most maxLeases, 3'],
    ] as const)
      it(`is refused: a quantity of ${JSON.stringify(quantity)}`, async () => {
        const error = await rejection(semaphoreOf(lab.client, lab.path, 3).acquireMany(quantity as number));
        expect(error).to.be.instanceOf(type);
        expect(error.message).to.contain('`quantity`').and.to.contain(text);
        expect(await lab.observer.exists(lab.path)).to.equal(false);
      });
  });
});

describe('two kinds of locks on one path', () => {
  const lab = labOfEachTest('two-kinds');

  it('are an error for the semaphore, at once', async () => {
    const hold = await new InterProcessMutex(lab.other, lab.path).acquire();
    const semaphore = semaphoreOf(lab.client, lab.path, 1);
    for (const call of [
      () => semaphore.acquire(),
      () => semaphore.tryAcquire(),
      () => semaphore.acquireMany(1, { timeoutMs: 10_000 }),
    ]) {
      const error = await rejection(call());
      expect(error).to.have.property('code', 'ERR_LOCK_FOREIGN_NODE');
      expect(error.message).to.contain(hold.path.slice(lab.path.length + 1));
    }
    await isEmpty(lab.observer, lab.path);
    await hold.release();
    await (await semaphore.acquire()).release();
  });

  it('are an error for the mutex, at once', async () => {
    await using _lease = await semaphoreOf(lab.client, lab.path, 1).acquire();
    expect(await rejection(new InterProcessMutex(lab.other, lab.path).acquire())).to.have.property(
      'code',
      'ERR_LOCK_FOREIGN_NODE',
    );
  });

  it('are an error for the semaphore if foreign znodes are among its leases', async () => {
    const lease = await semaphoreOf(lab.client, lab.path, 2).acquire();
    await lab.observer.create(`${lab.path}/leases/_c_9d3a40af-0a1b-4c2d-8e3f-405162738495-lock-0000000000`);
    const error = await rejection(semaphoreOf(lab.other, lab.path, 2).acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_FOREIGN_NODE');
    await lease.release();
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
  });
});
