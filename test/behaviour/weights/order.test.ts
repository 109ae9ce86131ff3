import { expect } from 'chai';
import { InterProcessMutex, type LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { until } from '../../../lab/until.ts';
import { isEmpty, lineUp } from './support.ts';

describe('a mutex with weights', () => {
  const lab = labOfEachTest('weights');

  const mutexOf = (client: LockClient, overtakesPerWeight?: number): InterProcessMutex =>
    new InterProcessMutex(client, lab.path, { weights: { overtakesPerWeight } });

  it('grants heavier waiters first, and within a weight in the order of arrival', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const hold = await ours.acquire();
    const { served } = await lineUp(lab, [
      { by: ours, weight: 1, name: 'a1' },
      { by: theirs, weight: 5, name: 'b5' },
      { by: ours, weight: 5, name: 'c5' },
      { by: theirs, weight: 10, name: 'd10' },
      { by: theirs, weight: 1, name: 'e1' },
      { by: ours, weight: 10, name: 'f10' },
      { by: ours, weight: 7, name: 'g7' },
    ]);
    await hold.release();
    expect(await served()).to.deep.equal(['d10', 'f10', 'g7', 'b5', 'c5', 'a1', 'e1']);
    await isEmpty(lab);
  });

  it('has weight 1 by default', async () => {
    const mutex = mutexOf(lab.client);
    await using _hold = await mutex.acquire();
    expect((await mutex.participants()).map(({ weight }) => weight)).to.deep.equal([1]);
  });

  it('overtakes a waiter only as often as it accepts, under a steady stream of heavier ones', async () => {
    const [ours, theirs] = [mutexOf(lab.client, 2), mutexOf(lab.other, 2)];
    const grants: string[] = [];
    const light = { isServed: false };
    const isStreaming = (): boolean => !light.isServed;
    const first = await ours.acquire({ weight: 3 });
    const lightHold = theirs.acquire({ weight: 1 });
    await lab.queueReaches(2);
    // Four at a time, so that a heavier waiter is always queued.
    const stream = [ours, theirs, ours, theirs].map(async (mutex) => {
      while (isStreaming()) {
        const hold = await mutex.acquire({ weight: 3 });
        if (isStreaming()) grants.push(hold.path);
        await hold.release();
      }
    });
    await lab.queueReaches(6);
    await first.release();
    const hold = await lightHold;
    light.isServed = true;
    const overtakes = grants.length;
    await hold.release();
    await Promise.all(stream);
    // Two overtakes for each of the two steps from weight 1 to weight 3.
    expect(overtakes).to.equal(4);
    await isEmpty(lab);
  });

  it('decides by the names: clients with different limits agree on the next waiter', async () => {
    const [strict, lax] = [mutexOf(lab.client, 1), mutexOf(lab.other, 99)];
    const hold = await lax.acquire();
    const { served } = await lineUp(lab, [
      { by: strict, weight: 1, name: 'strict' },
      { by: lax, weight: 1, name: 'lax' },
      { by: lax, weight: 2, name: 'a' },
      { by: strict, weight: 2, name: 'b' },
      { by: lax, weight: 2, name: 'c' },
    ]);
    await hold.release();
    // The strict waiter is overtaken once, and then by no waiter of weight 2; the lax waiter behind it is overtaken by
    // all.
    expect(await served()).to.deep.equal(['a', 'strict', 'b', 'c', 'lax']);
  });

  it('returns tokens that grow with every grant, although the czxids do not', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const tokens: bigint[] = [];
    const sequences: number[] = [];
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        await (index % 2 ? ours : theirs).withLock(
          (hold) => {
            tokens.push(hold.fencingToken);
            sequences.push(Number(hold.path.slice(-10)));
          },
          { weight: (index % 10) + 1 },
        );
      }),
    );
    expect(tokens).to.have.length(40);
    expect(tokens.toSorted((a, b) => Number(a - b))).to.deep.equal(tokens);
    expect(new Set(tokens).size).to.equal(40);
    expect(sequences.toSorted((a, b) => a - b)).to.not.deep.equal(sequences);
    await isEmpty(lab);
  });

  it('serves twenty waiters of each weight from two clients, one at a time, each once', async () => {
    const mutexes = [mutexOf(lab.client), mutexOf(lab.other)];
    let inside = 0;
    let served = 0;
    const tokens: bigint[] = [];
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        await mutexes[index % 2]?.withLock(
          async (hold) => {
            inside += 1;
            expect(inside).to.equal(1);
            await Promise.resolve();
            tokens.push(hold.fencingToken);
            served += 1;
            inside -= 1;
          },
          { weight: (Math.floor(index / 2) % 10) + 1 },
        );
      }),
    );
    expect(served).to.equal(200);
    tokens.reduce((last, token) => {
      expect(token > last).to.equal(true);
      return token;
    });
    await isEmpty(lab);
  });

  it('re-enters in a context that holds the lock, whatever the weight, and sends nothing', async () => {
    const mutex = mutexOf(lab.client);
    await mutex.withLock(
      async (outer) => {
        const inner = await mutex.acquire({ weight: 10 });
        expect(inner.path).to.equal(outer.path);
        expect(inner.fencingToken).to.equal(outer.fencingToken);
        await inner.release();
        expect(outer.isValid).to.equal(true);
        expect((await mutex.participants()).map(({ path, weight }) => ({ path, weight }))).to.deep.equal([
          { path: outer.path, weight: 3 },
        ]);
      },
      { weight: 3 },
    );
    await isEmpty(lab);
  });

  it('emits queued with the number of earlier grants, and lists participants in grant order', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const positions: number[] = [];
    for (const mutex of [ours, theirs]) mutex.on('queued', ({ position }) => positions.push(position));
    const hold = await ours.acquire({ weight: 2 });
    // One after another, because a member of an ensemble that lags tells its client later than the others.
    const known = (count: number): Promise<void> =>
      until(`${count} waiters have their position`, () => positions.length === count);
    const waiters = [
      { by: ours, weight: 1, name: 'a1' },
      { by: theirs, weight: 5, name: 'b5' },
      { by: ours, weight: 3, name: 'c3' },
      { by: ours, weight: 10, name: 'd10' },
    ];
    const { served } = await lineUp(lab, waiters, known);
    expect(positions).to.deep.equal([1, 1, 2, 1]);
    const participants = await theirs.participants();
    expect(participants.map(({ weight }) => weight)).to.deep.equal([2, 10, 5, 3, 1]);
    expect(participants[0]?.path).to.equal(hold.path);
    await hold.release();
    expect(await served()).to.deep.equal(['d10', 'b5', 'c3', 'a1']);
  });

  it('does not write in tryAcquire while the lock is held, whatever the weight', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const hold = await ours.tryAcquire({ weight: 4 });
    expect((await ours.participants()).map(({ weight }) => weight)).to.deep.equal([4]);
    expect(await theirs.tryAcquire({ weight: 10 })).to.equal(undefined);
    await hold?.release();
    const next = await theirs.tryAcquire();
    // The znode has the next sequence number, so that no other znode was created in between.
    expect(Number(next?.path.slice(-10))).to.equal(Number(hold?.path.slice(-10)) + 1);
    await next?.release();
  });

  it('names its holder, which the znode order does not show: none, or the lightest if it came first', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    expect(await ours.isLocked()).to.equal(false);
    const hold = await ours.acquire({ weight: 1, data: 'owner' });
    const { served } = await lineUp(lab, [{ by: theirs, weight: 10, name: 'a10' }]);
    const holder = await theirs.holder();
    expect(holder).to.deep.include({ path: hold.path, weight: 1 });
    expect(holder?.owner?.pid).to.equal(process.pid);
    expect(await theirs.isLocked()).to.equal(true);
    await hold.release();
    await served();
    expect(await ours.holder()).to.equal(undefined);
  });

  it('grants the next waiter when the lease of a holder ends', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const hold = await ours.acquire({ weight: 9, leaseMs: 100 });
    await using next = await theirs.acquire({ weight: 2 });
    expect(hold.isValid).to.equal(false);
    expect(next.fencingToken > hold.fencingToken).to.equal(true);
  });
});
