import { expect } from 'chai';
import { forceRelease, InterProcessMutex, LockClient, revoke, watchQueue, type LockQueue } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { sharedConnectString } from '../../../lab/hooks.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { isEmpty, lineUp } from './support.ts';

const weights = {};

describe('a weighted mutex:', () => {
  const lab = labOfEachTest('weights-losses');

  const mutexOf = (client: LockClient): InterProcessMutex => new InterProcessMutex(client, lab.path, { weights });
  /** The paths of this lock that a client watches, its own znodes included. */
  const watched = (client: LockClient): string[] =>
    client.session.watches.paths('data').filter((path) => path.startsWith(lab.path));

  it('a holder’s session ends: its signal aborts, and the heaviest waiter is next, with a larger token', async () => {
    const victim = await LockClient.connect(sharedConnectString());
    const hold = await mutexOf(victim).acquire();
    const { served } = await lineUp(lab, [
      { by: mutexOf(lab.client), weight: 2, name: 'a2' },
      { by: mutexOf(lab.other), weight: 9, name: 'b9' },
    ]);
    await lab.observer.endSession(victim);
    await aborted(hold.signal);
    expect(await served()).to.deep.equal(['b9', 'a2']);
    await victim.close();
    await isEmpty(lab);
  });

  it('a waiter’s session ends: the next waiter takes its place', async () => {
    const victim = await LockClient.connect(sharedConnectString());
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const hold = await ours.acquire();
    const lost = mutexOf(victim).acquire({ weight: 10 });
    lost.catch(() => undefined);
    await lab.queueReaches(2);
    const { served } = await lineUp(lab, [
      { by: theirs, weight: 3, name: 'a3' },
      { by: ours, weight: 7, name: 'b7' },
    ]);
    const closed = victim.close();
    expect((await rejection(lost)).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
    await closed;
    await hold.release();
    expect(await served()).to.deep.equal(['b7', 'a3']);
    await isEmpty(lab);
  });

  it('the next waiter leaves before its claim: the others do not wait for it', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const hold = await ours.acquire();
    const controller = new AbortController();
    const heavy = rejection(theirs.acquire({ weight: 10, signal: controller.signal }));
    await lab.queueReaches(2);
    const { served } = await lineUp(lab, [
      { by: ours, weight: 4, name: 'a4' },
      { by: theirs, weight: 4, name: 'b4' },
    ]);
    const released = hold.release();
    controller.abort(new Error('enough'));
    expect((await heavy).message).to.be.oneOf(['enough']);
    await released;
    expect(await served()).to.deep.equal(['a4', 'b4']);
    await isEmpty(lab);
  });

  for (const how of ['timeout', 'abort'] as const)
    it(`a waiter gives up (${how}): no znode and no watch are left, whatever it waited for`, async () => {
      const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
      const hold = await ours.acquire({ weight: 5 });
      const controller = new AbortController();
      const limits = how === 'timeout' ? { timeoutMs: 300 } : { signal: controller.signal };
      // The first waits for the holder, the second for the first, the third for the second, which has its weight, and
      // the last for a heavier one.
      const waits = [9, 4, 4, 1].map((weight) => rejection(theirs.acquire({ ...limits, weight })));
      if (how === 'abort') {
        await lab.queueReaches(5);
        await until('the waiters watch', () => watched(lab.other).length >= 3);
        controller.abort(new Error('enough'));
      }
      for (const error of await Promise.all(waits))
        expect(error.code ?? error.message).to.equal(how === 'timeout' ? 'ERR_LOCK_TIMEOUT' : 'enough');
      await lab.queueReaches(1);
      await until('no watch is left', () => watched(lab.other).length === 0);
      expect(hold.isValid).to.equal(true);
      await hold.release();
      await (await theirs.acquire()).release();
    });

  it('a waiter’s znode is deleted: the waiter queues up again, and is served', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const paths: string[] = [];
    theirs.on('queued', ({ path }) => paths.push(path));
    const hold = await ours.acquire();
    const waiting = theirs.acquire({ weight: 6 });
    await until('the waiter is queued', () => paths.length === 1);
    await lab.observer.remove(paths[0] ?? '');
    await until('the waiter is queued again', () => paths.length === 2);
    await hold.release();
    await using next = await waiting;
    expect(next.path).to.equal(paths[1]);
  });

  it('a holder’s znode is deleted: its signal aborts, and the next waiter is granted', async () => {
    const hold = await mutexOf(lab.client).acquire();
    const waiting = mutexOf(lab.other).acquire({ weight: 6 });
    await lab.queueReaches(2);
    const { signal } = hold;
    await lab.observer.remove(hold.path);
    expect(await aborted(signal)).to.have.property('reason', 'node-deleted');
    await (await waiting).release();
    expect(await hold.release()).to.equal('lost');
  });

  it('revoke calls the holder’s listener, and forceRelease ends the hold before the next grant', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    ours.makeRevocable((hold) => hold.release());
    const asked = await ours.acquire({ weight: 3 });
    await revoke(lab.other, asked.path);
    const taken = await theirs.acquire({ weight: 2 });
    expect(asked.isValid).to.equal(false);
    const order: string[] = [];
    taken.signal.addEventListener('abort', () => {
      order.push('lost');
      void taken.release();
    });
    const waiting = ours.acquire({ weight: 8 }).then((hold) => {
      order.push('granted');
      return hold;
    });
    await lab.queueReaches(2);
    expect(await forceRelease(lab.client, taken.path)).to.equal('released');
    await (await waiting).release();
    expect(order).to.deep.equal(['lost', 'granted']);
  });

  it('watchQueue shows the waiters in the order of their grants', async () => {
    const [ours, theirs] = [mutexOf(lab.client), mutexOf(lab.other)];
    const controller = new AbortController();
    const seen: (number | undefined)[][] = [];
    const shown = (queue: LockQueue): (number | undefined)[] => [
      queue.holder?.weight,
      ...queue.waiters.map(({ weight }) => weight),
    ];
    const watching = (async () => {
      for await (const queue of watchQueue(lab.client, lab.path, { signal: controller.signal }))
        seen.push(shown(queue));
    })();
    const sees = (...weights: (number | undefined)[]): Promise<void> =>
      until(`watchQueue shows ${String(weights)}`, () => JSON.stringify(seen.at(-1)) === JSON.stringify(weights));
    await until('watchQueue has the first queue', () => seen.length === 1);
    const hold = await ours.acquire({ weight: 2 });
    await sees(2);
    const first = theirs.acquire({ weight: 1 });
    await sees(2, 1);
    const second = theirs.acquire({ weight: 7 });
    await sees(2, 7, 1);
    await hold.release();
    await sees(7, 1);
    await (await second).release();
    await (await first).release();
    await until('watchQueue shows an empty queue', () => seen.at(-1)?.[0] === undefined && seen.at(-1)?.length === 1);
    controller.abort();
    await watching;
  });
});
