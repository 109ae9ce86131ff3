import { expect } from 'chai';
import { InterProcessMutex, StandardDriver, type Hold, type LockDriver } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { setAcl } from './operator/acl.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { type Frame } from '../../lab/proxy/zk-proxy.ts';
import { queueReaches } from '../../lab/queue.ts';

describe('a hand-over within a process', () => {
  const lab = labOfEachTest('hand-over', { server: 'own', proxy: true, client: { sessionTimeoutMs: 10_000 } });

  /** True for the transaction that names both znodes; a heartbeat names only the holder's. */
  const handsOver =
    (side: Frame['from']) =>
    (frame: Frame): boolean =>
      frame.from === side && frame.op === 'multi' && handOvers.has(frame.xid);
  const handOvers = new Set<number>();

  /** A holder, and the waiter directly behind it. */
  const pair = async (
    name: string,
  ): Promise<{ mutex: InterProcessMutex; hold: Hold; waiting: Promise<Hold>; next: string }> => {
    handOvers.clear();
    const mutex = new InterProcessMutex(lab.client, testPath(name));
    const hold = await mutex.acquire();
    const waiting = mutex.acquire();
    await queueReaches(mutex, 2);
    const next = (await mutex.participants())[1]?.path ?? '';
    lab.proxy.on((frame) => {
      if (
        frame.from === 'client' &&
        frame.op === 'multi' &&
        frame.body.includes(hold.path) &&
        frame.body.includes(next)
      )
        handOvers.add(frame.xid);
      return undefined;
    });
    return { mutex, hold, waiting, next };
  };

  it('grants the successor at once, and deletes in a transaction that checks its znode', async () => {
    const { mutex, hold, waiting, next } = await pair('at-once');
    lab.proxy.on((frame) => (handsOver('server')(frame) ? 'hold' : undefined));
    lab.proxy.clear();
    let isReleased = false;
    const releasing = hold.release().finally(() => (isReleased = true));
    await using following = await waiting;
    expect(following.path).to.equal(next);
    expect(following.isValid).to.equal(true);
    expect(hold.isValid).to.equal(false);
    await lab.proxy.seen(handsOver('server'));
    expect(isReleased, 'the release has not settled before the reply').to.equal(false);
    lab.proxy.speak();
    expect(await releasing).to.equal('released');
    expect(lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'delete')).to.have.length(0);
    expect((await mutex.participants()).map(({ path }) => path)).to.deep.equal([next]);
  });

  it('also works between two mutex objects with one driver', async () => {
    const standard = new StandardDriver();
    const driver: LockDriver = {
      lockName: 'lock-',
      appendOnly: true,
      sort: (names) => standard.sort(names),
      decide: (sorted, ours) => standard.decide(sorted, ours),
    };
    const [first, second] = [1, 2].map(() => new InterProcessMutex(lab.client, lab.path, { driver })) as [
      InterProcessMutex,
      InterProcessMutex,
    ];
    const hold = await first.acquire();
    const waiting = second.acquire();
    await queueReaches(first, 2);
    lab.proxy.clear();
    await hold.release();
    await (await waiting).release();
    expect(lab.proxy.frames.filter(({ from, op }) => from === 'client' && op === 'delete')).to.have.length(1);
  });

  it('to a znode that was already deleted takes the lock from it, and the next waiter gets it', async () => {
    const { mutex, hold, waiting, next } = await pair('deleted');
    const third = new InterProcessMutex(lab.other, mutex.path).acquire();
    await queueReaches(mutex, 3);
    // The watch event of the deletion would arrive first. The client watches the znode only after a while.
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'watch' ? 'drop' : undefined));
    const deleted = lab.proxy.seen(handsOver('client')).then(() => lab.observer.remove(next));
    lab.proxy.on((frame) => (handsOver('client')(frame) ? { delayUntil: deleted } : undefined));
    const releasing = hold.release();
    const following = await waiting;
    expect(await aborted(following.signal)).to.have.property('reason', 'node-deleted');
    expect(await releasing).to.equal('released');
    await (await third).release();
    expect(await following.release()).to.equal('lost');
    expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
  });

  for (const side of ['client', 'server'] as const)
    it(`that loses its ${side === 'client' ? 'request' : 'reply'} keeps the successor’s hold, and leaves no znode`, async () => {
      const { mutex, hold, waiting } = await pair('cut');
      lab.proxy.on((frame) => (handsOver(side)(frame) ? 'cut' : undefined));
      const releasing = hold.release();
      const following = await waiting;
      expect(await releasing).to.equal('released');
      expect(following.isValid).to.equal(true);
      await until('the first znode is gone', async () => (await lab.observer.children(mutex.path)).length === 1);
      expect(following.isValid).to.equal(true);
      expect(await following.release()).to.equal('released');
      expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
    });

  it('that the servers refuse is followed by a plain delete', async () => {
    const { mutex, hold, waiting } = await pair('refused');
    lab.proxy.on((frame) => (handsOver('server')(frame) ? { replaceError: -5 } : undefined));
    expect(await hold.release()).to.equal('released');
    await (await waiting).release();
    expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
  });

  it('whose delete the servers refuse is tried again, because the znode would block the lock', async () => {
    const { mutex, hold, waiting } = await pair('no-right');
    const allButDelete = 0b10111;
    const all = 0b11111;
    await setAcl(lab.other, mutex.path, allButDelete);
    const releasing = hold.release();
    await using following = await waiting;
    await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'delete');
    await setAcl(lab.other, mutex.path, all);
    expect(await releasing).to.equal('released');
    expect((await mutex.participants()).map(({ path }) => path)).to.deep.equal([following.path]);
  });

  it('does not skip a waiter of another process', async () => {
    const order: string[] = [];
    const hold = await lab.mutex.acquire();
    const foreign = lab.theirs.acquire().then((one) => (order.push('other process'), one));
    await queueReaches(lab.mutex, 2);
    const own = lab.mutex.acquire().then((one) => (order.push('own process'), one));
    await queueReaches(lab.mutex, 3);
    await hold.release();
    await (await foreign).release();
    await (await own).release();
    expect(order).to.deep.equal(['other process', 'own process']);
  });

  it('skips a waiter that has given up', async () => {
    const hold = await lab.mutex.acquire();
    const aborter = new AbortController();
    const givingUp = rejection(lab.mutex.acquire({ signal: aborter.signal }));
    await queueReaches(lab.mutex, 2);
    const successor = lab.mutex.acquire();
    await queueReaches(lab.mutex, 3);
    const second = (await lab.mutex.participants())[1]?.path ?? '';
    lab.proxy.clear();
    aborter.abort(new Error('enough'));
    const releasing = hold.release();
    expect((await givingUp).message).to.equal('enough');
    await (await successor).release();
    expect(await releasing).to.equal('released');
    const attempts = lab.proxy.frames.filter(({ op, body }) => op === 'multi' && body.includes(second));
    expect(attempts, 'a transaction that fails, and delays the release by a round trip').to.deep.equal([]);
    await lab.queueReaches(0);
  });

  it('to a waiter that aborts between wake-up and check leaves no znode', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('met-by-abort'));
    const hold = await mutex.acquire();
    const aborter = new AbortController();
    const waiting = mutex.acquire({ signal: aborter.signal });
    await queueReaches(mutex, 2);
    const released = hold.release();
    aborter.abort(new Error('enough'));
    expect((await rejection(waiting)).message).to.equal('enough');
    await released;
    await until('the queue is empty', async () => (await lab.observer.children(mutex.path)).length === 0);
    expect(await (await mutex.acquire()).release()).to.equal('released');
  });

  it('of a hundred waiters in a row keeps their order, with one transaction each', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('row'));
    const hold = await mutex.acquire();
    const tokens: bigint[] = [];
    const all = Array.from({ length: 100 }, async () => {
      await using one = await mutex.acquire();
      tokens.push(one.fencingToken);
    });
    await queueReaches(mutex, 101);
    lab.proxy.clear();
    await hold.release();
    await Promise.all(all);
    expect(tokens).to.deep.equal([...tokens].sort((a, b) => (a < b ? -1 : 1)));
    const deletes = lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'delete');
    expect(deletes, 'the delete of the last hold, which has no waiter behind it').to.have.length(1);
  });
});
