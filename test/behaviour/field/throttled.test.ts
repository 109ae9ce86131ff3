import { expect } from 'chai';
import { InterProcessMutex, LockTimeoutError, type LockClient, type RetryPolicy } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import type { Op } from '../../../lab/proxy/zk-proxy.ts';
import { queueReaches } from '../../../lab/queue.ts';
import { Random } from '../../../lab/random.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { awaitedLater, sameConnectionOfEachTest, statesOf } from './support.ts';

const sessionTimeoutMs = 6_000;
const limit = { timeoutMs: 5 * sessionTimeoutMs };
/** Not executed, please try again. */
const throttled = -127;
const times = 5;

describe('FIELD B1: a server that says "later"', function () {
  this.timeout(300_000);
  const lab = labOfEachTest('throttled', { server: 'own', proxy: true, client: { sessionTimeoutMs } });
  const expectSameConnection = sameConnectionOfEachTest(lab);

  /** The server says "later" to so many requests of this kind; returns the number so far. */
  const throttle = (op: Op, most = times): (() => number) => {
    let said = 0;
    lab.proxy.on((frame) => (sent(op)(frame) && said < most ? ((said += 1), { refuse: throttled }) : undefined));
    return () => said;
  };

  for (const op of ['create2', 'getChildren2'] as const)
    it(`to ${op}: the acquire goes on after a pause, on its connection, and leaves one znode`, async () => {
      const said = throttle(op);
      const hold = await lab.mutex.acquire(limit);
      expect(hold.isValid).to.equal(true);
      expect(said()).to.equal(times);
      expect(await lab.observer.children(lab.path)).to.have.length(1);
      await hold.release();
      expectSameConnection();
    });

  it('to four of five requests: a hold stays', async () => {
    const hold = await lab.mutex.acquire(limit);
    const random = new Random(7, 0);
    lab.proxy.on((frame) =>
      frame.from === 'client' && frame.op !== 'ping' && random.next() < 0.8 ? { refuse: throttled } : undefined,
    );
    await lab.sleep(20 * sessionTimeoutMs);
    expect(hold.isValid).to.equal(true);
    expectSameConnection();
  });

  it('to a hand-over: the same client is shown no holder that has released', async () => {
    const held = await lab.mutex.acquire(limit);
    const next = lab.mutex.acquire(limit);
    // Behind the answer to the create, because without it the release would be no hand-over.
    await queueReaches(lab.mutex, 2);
    const said = throttle('multi', 2);
    const released = held.release();
    await using hold = await next;
    expect((await lab.mutex.holder())?.path).to.equal(hold.path);
    expect(said()).to.equal(2);
    expect(await released).to.equal('released');
    expectSameConnection();
  });

  it('to a transaction whose hold is released in the pause: reads wait for it no more', async () => {
    const hold = await lab.mutex.acquire(limit);
    const said = throttle('multi', 1);
    const writing = awaitedLater(hold.transaction().setData(lab.path, Buffer.from('late')).commit());
    await until('it was told', () => said() === 1);
    const reading = lab.mutex.participants({ timeoutMs: sessionTimeoutMs });
    await hold.release();
    await rejection(writing);
    expect(await reading).to.have.length.of.at.most(1);
    expect(await lab.mutex.participants({ timeoutMs: 1_000 })).to.deep.equal([]);
    expectSameConnection();
  });

  it('to a transaction whose hold is released in the pause: a later wait is not blamed on the server', async () => {
    const hold = await lab.mutex.acquire(limit);
    const said = throttle('multi', 1);
    const writing = rejection(hold.transaction().setData(lab.path, Buffer.from('late')).commit());
    await until('it was told', () => said() === 1);
    await hold.release();
    await writing;
    await using _ = await lab.theirs.acquire(limit);
    const error = await rejection(lab.mutex.acquire({ timeoutMs: 2_000 }));
    expect(error).to.be.instanceOf(LockTimeoutError).and.to.include({ reason: 'contention' });
    expectSameConnection();
  });

  it('to createContainer: the acquire of a new path goes on', async () => {
    const said = throttle('createContainer');
    await new InterProcessMutex(lab.client, testPath('fresh')).withLock(() => undefined, limit);
    expect(said()).to.equal(times);
    expectSameConnection();
  });

  it('to getData: a waiter keeps its place, and is granted', async () => {
    const held = await lab.theirs.acquire(limit);
    const said = throttle('getData');
    const waiting = awaitedLater(lab.mutex.acquire(limit));
    await until('it was told', () => said() === times);
    await lab.queueReaches(2);
    const [, place] = await lab.theirs.participants();
    await held.release();
    const hold = await waiting;
    expect(hold.path).to.equal(place?.path);
    await hold.release();
    expectSameConnection();
  });

  it('to getData, each time: a waiter keeps its place, and stops at its deadline', async () => {
    const held = await lab.theirs.acquire(limit);
    throttle('getData', Infinity);
    const startedAt = lab.now();
    const error = await rejection(lab.mutex.acquire({ timeoutMs: 10_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_TIMEOUT');
    expect(lab.now() - startedAt).to.be.closeTo(10_000, 10);
    await held.release();
    expectSameConnection();
  });

  it('to multi: a holder keeps its lock, and its heartbeats go on', async () => {
    const hold = await lab.mutex.acquire(limit);
    const said = throttle('multi', 2);
    await lab.sleep(3 * sessionTimeoutMs);
    expect(said()).to.equal(2);
    expect(hold.isValid).to.equal(true);
    expect(hold.remainingMs).to.be.above(sessionTimeoutMs / 4);
    await hold.release();
    expectSameConnection();
  });

  it('to sync: a try finds the free lock, and a holder keeps it', async () => {
    const said = throttle('sync');
    const hold = await lab.mutex.tryAcquire(limit.timeoutMs);
    expect(hold?.isValid).to.equal(true);
    await lab.sleep(3 * sessionTimeoutMs);
    expect(said()).to.equal(times);
    expect(hold?.isValid).to.equal(true);
    await hold?.release();
    expectSameConnection();
  });

  it('to delete: the released znode is deleted later, and the next client is granted the lock', async () => {
    const hold = await lab.mutex.acquire(limit);
    const next = awaitedLater(lab.theirs.acquire(limit));
    await lab.queueReaches(2);
    const said = throttle('delete');
    expect(await hold.release()).to.equal('released');
    await (await next).release();
    expect(said()).to.equal(times);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    expectSameConnection();
  });

  it('to exists: a create whose answer was lost is found all the same, and granted', async () => {
    const said = throttle('exists');
    const states = statesOf(lab.client);
    once(lab.proxy, answered('create2'), 'cut');
    await using hold = await lab.mutex.acquire(limit);
    expect(hold.isValid).to.equal(true);
    expect(said()).to.equal(times);
    expect(await lab.observer.children(lab.path)).to.have.length(1);
    expect(states).to.deep.equal(['suspended', 'reconnected']);
  });

  it('to removeWatches: a waiter that gave up is no error, and the client goes on', async () => {
    const held = await lab.theirs.acquire(limit);
    throttle('removeWatches');
    expect(await rejection(lab.mutex.acquire({ timeoutMs: 1_000 }))).to.have.property('code', 'ERR_LOCK_TIMEOUT');
    await held.release();
    await lab.mutex.withLock(() => undefined, limit);
    expectSameConnection();
  });

  it('to removeWatches: a watch that another waiter has planted meanwhile is not removed', async () => {
    const held = await lab.theirs.acquire(limit);
    const said = throttle('removeWatches');
    await rejection(lab.mutex.acquire({ timeoutMs: 1_000 }));
    const next = lab.mutex.acquire(limit);
    await until('it was told', () => said() > 0);
    await lab.queueReaches(2);
    await lab.sleep(2_000);
    await held.release();
    const releasedAt = lab.now();
    await (await next).release();
    expect(lab.now() - releasedAt).to.be.below(100);
    expectSameConnection();
  });

  for (const op of ['getData', 'setWatches'] as const)
    it(`to ${op}: a waiter that gives up meanwhile leaves no watch behind`, async () => {
      const held = await lab.theirs.acquire(limit);
      const aborter = new AbortController();
      const said = throttle(op, op === 'getData' ? 2 : 1);
      const waiting = rejection(lab.mutex.acquire({ ...limit, signal: aborter.signal }));
      await lab.queueReaches(2);
      if (op === 'setWatches') {
        await lab.sleep(1_000);
        lab.proxy.cut();
      }
      await until('it was told', () => said() > 0);
      aborter.abort();
      await waiting;
      await lab.sleep(sessionTimeoutMs);
      const before = lab.proxy.frames.length;
      await held.release();
      await lab.sleep(1_000);
      expect(lab.proxy.frames.slice(before).filter(answered('watch'))).to.deep.equal([]);
    });

  it('to sync: a list behind it is asked for again, behind the sync', async () => {
    await using _held = await lab.theirs.acquire(limit);
    lab.proxy.clear();
    const said = throttle('sync', 1);
    expect(await lab.mutex.participants()).to.have.length(1);
    expect(said()).to.equal(1);
    const asked = lab.proxy.frames.filter(({ from, path }) => from === 'client' && path === lab.path);
    const ops = asked.map(({ op }) => op);
    expect(ops.filter((op) => op === 'sync')).to.have.length(2);
    expect(ops.lastIndexOf('getChildren2')).to.be.above(ops.lastIndexOf('sync'));
  });

  it('to a transaction whose hold is released meanwhile: the commit rejects, and nothing was done', async () => {
    const hold = await lab.mutex.acquire(limit);
    const data = testPath('data');
    const said = throttle('multi', 1);
    const committing = rejection(hold.transaction().create(data).commit());
    await until('it was told', () => said() === 1);
    expect(await hold.release()).to.equal('released');
    expect(await committing).to.have.property('code', 'ERR_LOCK_NOT_OWNED');
    expect(await lab.observer.exists(data)).to.equal(false);
    expectSameConnection();
  });

  it('to create2, each time: the acquire stops at its deadline, with that reason, and leaves nothing', async () => {
    const said = throttle('create2', Infinity);
    const startedAt = lab.now();
    const error = await rejection(lab.mutex.acquire({ timeoutMs: 10_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_TIMEOUT');
    expect(error.message).to.not.match(/others hold/);
    expect(error.message).to.include('puts requests off (THROTTLED_OP)');
    expect(lab.now() - startedAt).to.be.closeTo(10_000, 10);
    // With a pause that grows.
    expect(said()).to.be.within(3, 100);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    expectSameConnection();
  });

  it('to create2, each time, and a heartbeat is in flight at the deadline: the reason is the same', async () => {
    throttle('create2', Infinity);
    const error = await rejection(lab.mutex.acquire({ timeoutMs: sessionTimeoutMs / 2 }));
    expect(error).to.have.property('reason', 'no-answer');
    expect(error.message).to.include('puts requests off (THROTTLED_OP)');
  });

  it('is not a question for the retry policy', async () => {
    let asked = 0;
    const retryPolicy: RetryPolicy = {
      allowRetry: () => {
        asked += 1;
        return { retry: false };
      },
    };
    const client = await lab.connect({ sessionTimeoutMs, retryPolicy });
    throttle('create2');
    await new InterProcessMutex(client, lab.path).withLock(() => undefined, limit);
    expect(asked).to.equal(0);
  });

  it('to the data of a lock with weights: the list that was answered before them is not used', async () => {
    const weights = { weights: { overtakesPerWeight: 1 } };
    const isOfLock = ({ path }: { readonly path?: string | undefined }): boolean => path === lab.path;
    let isPutOff = false;
    once(
      lab.proxy,
      (frame) => sent('getData')(frame) && isOfLock(frame),
      () => {
        isPutOff = true;
        return { refuse: throttled };
      },
    );
    const listed = lab.proxy.seen((frame) => isPutOff && answered('getChildren2')(frame) && isOfLock(frame));
    const light = awaitedLater(new InterProcessMutex(lab.client, lab.path, weights).acquire({ weight: 1 }));
    await listed;
    // It comes after the list, and overtakes the other before its data are read again.
    const heavy = await new InterProcessMutex(lab.other, lab.path, weights).acquire({ weight: 9 });
    let isLight = false;
    void light.then(() => (isLight = true));
    await lab.sleep(1_000);
    expect(isLight).to.equal(false);
    await heavy.release();
    await (await light).release();
  });

  it('to four of five requests: 40 clients get the lock in turn, none is rejected, none reconnects', async () => {
    const clients: LockClient[] = await Promise.all(
      Array.from({ length: 40 }, () => lab.connect({ sessionTimeoutMs: 30_000 })),
    );
    const states = clients.map(statesOf);
    let requests = 0;
    const kinds: readonly Op[] = ['create2', 'getChildren2', 'getData', 'delete', 'sync', 'multi'];
    lab.proxy.on((frame) =>
      frame.from === 'client' && kinds.includes(frame.op) && (requests += 1) % 5 !== 0
        ? { refuse: throttled }
        : undefined,
    );
    const all = await Promise.allSettled(
      clients.map((client) =>
        new InterProcessMutex(client, lab.path).withLock(() => undefined, { timeoutMs: 200_000 }),
      ),
    );
    expect(all.filter(({ status }) => status === 'rejected')).to.have.length(0);
    // Waiters that were quiet attach anew, which is no outage.
    expect(states.flat()).to.deep.equal([]);
  });
});
