import { expect } from 'chai';
import { InterProcessReadWriteLock, InterProcessSemaphore, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import type { Owner, Peer } from '../../lab/programs/interop/peer.ts';
import { peersOfSuite, startJava, startNode } from '../../lab/programs/interop/peers.ts';
import { until } from '../../lab/until.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';

const shortest = { sessionTimeoutMs: 6_000 };

describe('kill -9 in a queue of Java and Node', () => {
  const lab = labOfEachTest('killed');
  peersOfSuite();

  it('of a Java holder and waiter: Node is granted the lock, in order, when the session is over', async function () {
    this.timeout(60_000);
    const victim = await startJava(shortest);
    await victim.owner('holder').acquire('mutex', lab.path);
    const ours: Promise<Hold>[] = [lab.mutex.acquire()];
    await queueReaches(lab.mutex, 2);
    const dying = waits(victim.owner('waiter'));
    await queueReaches(lab.mutex, 3);
    ours.push(lab.mutex.acquire());
    await queueReaches(lab.mutex, 4);
    const queue = await queueOf(lab.mutex);
    await victim.kill();
    expect(await dying).to.match(/SIGKILL/);
    const served: string[] = [];
    for (const hold of ours) {
      served.push((await hold).path);
      await (await hold).release();
    }
    expect(served).to.deep.equal([queue[1], queue[3]]);
    expect(await queueOf(lab.mutex)).to.deep.equal([]);
  });

  it('of a Node holder and waiter: Java is granted the lock, in order, when the session is over', async function () {
    this.timeout(60_000);
    const [victim, survivor] = await Promise.all([startNode(shortest), startJava()]);
    await victim.owner('holder').acquire('mutex', lab.path);
    const theirs = [survivor.owner('first'), survivor.owner('second')].map((owner) => ({
      owner,
      queue: () => owner.acquire('mutex', lab.path),
    }));
    const [first, second] = theirs;
    const served = first?.queue();
    await queueReaches(lab.mutex, 2);
    const dying = waits(victim.owner('waiter'));
    await queueReaches(lab.mutex, 3);
    const servedNext = second?.queue();
    await queueReaches(lab.mutex, 4);
    const queue = await queueOf(lab.mutex);
    await victim.kill();
    expect(await dying).to.match(/SIGKILL/);
    expect(await served).to.equal(queue[1]);
    await first?.owner.release('mutex', lab.path);
    expect(await servedNext).to.equal(queue[3]);
    await second?.owner.release('mutex', lab.path);
    expect(await queueOf(lab.mutex)).to.deep.equal([]);
    await survivor.close();
  });

  for (const [name, start] of [
    ['Java', startJava],
    ['Node', startNode],
  ] as const)
    it(`of a ${name} waiter: the waiters behind it stay behind the holder, and are served in turn`, async function () {
      this.timeout(60_000);
      const victim: Peer = await start(shortest);
      const holder = await lab.mutex.acquire();
      const dying = waits(victim.owner('waiter'));
      await queueReaches(lab.mutex, 2);
      let isIn = false;
      const behind = lab.mutex.acquire().finally(() => (isIn = true));
      await queueReaches(lab.mutex, 3);
      await victim.kill();
      expect(await dying).to.match(/SIGKILL/);
      await queueReaches(lab.mutex, 2);
      // The waiter knows by now that its predecessor ended, because one connection is read in order.
      expect([isIn, holder.isValid]).to.deep.equal([false, true]);
      await holder.release();
      await (await behind).release();
      expect(await queueOf(lab.mutex)).to.deep.equal([]);
    });

  for (const [name, start, startOther] of [
    ['Java', startJava, startNode],
    ['Node', startNode, startJava],
  ] as const) {
    it(`of ${name}, which holds one of two leases and waits for another: the next waiters get them when the session is over, and the other holder keeps its lease`, async function () {
      this.timeout(60_000);
      const kind = 'semaphore:2';
      const semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 });
      const [victim, survivor] = await Promise.all([start(shortest), startOther()]);
      await victim.owner('holder').acquire(kind, lab.path);
      const ours = await semaphore.acquire();
      const dying = waits(victim.owner('waiter'), kind);
      await childrenReach('leases', 3);
      const order: string[] = [];
      const theirs = survivor
        .owner('next')
        .acquire(kind, lab.path)
        .then(() => order.push('the survivor'));
      await childrenReach('locks', 2);
      const last = semaphore.acquire().finally(() => order.push('ours'));
      await childrenReach('locks', 3);
      await victim.kill();
      expect(await dying).to.match(/SIGKILL/);
      await theirs;
      // Two leases are held, and the last waiter still waits.
      await childrenReach('leases', 3);
      expect([order, ours.isValid]).to.deep.equal([['the survivor'], true]);
      await survivor.owner('next').release(kind, lab.path);
      await (await last).release();
      await ours.release();
      await childrenReach('leases', 0);
      await childrenReach('locks', 0);
      await survivor.close();
    });

    it(`of a ${name} writer: readers of both are granted together when the session is over, and the writer behind them waits for both`, async function () {
      this.timeout(60_000);
      const rw = new InterProcessReadWriteLock(lab.client, lab.path);
      const [victim, survivor] = await Promise.all([start(shortest), startOther()]);
      await victim.owner('writer').acquire('write', lab.path);
      const ours = rw.readLock.acquire();
      await childrenReach('', 2);
      const theirs = survivor.owner('reader').acquire('read', lab.path);
      await childrenReach('', 3);
      const next = rw.writeLock.acquire();
      await childrenReach('', 4);
      await victim.kill();
      const reading = await ours;
      expect(await theirs).to.not.equal(null);
      await survivor.owner('reader').release('read', lab.path);
      await childrenReach('', 2);
      expect(await rw.writeLock.participants(), 'it waits for our reader').to.have.length(1);
      await reading.release();
      await (await next).release();
      await childrenReach('', 0);
      await survivor.close();
    });

    it(`of a ${name} reader that also waits to write: a writer of the other side is granted when the session is over and our reader has released`, async function () {
      this.timeout(60_000);
      const rw = new InterProcessReadWriteLock(lab.client, lab.path);
      const [victim, survivor] = await Promise.all([start(shortest), startOther()]);
      await victim.owner('reader').acquire('read', lab.path);
      const ours = await rw.readLock.acquire();
      const dying = waits(victim.owner('writer'), 'write');
      await childrenReach('', 3);
      let isIn = false;
      const theirs = survivor
        .owner('writer')
        .acquire('write', lab.path)
        .finally(() => (isIn = true));
      await childrenReach('', 4);
      await victim.kill();
      expect(await dying).to.match(/SIGKILL/);
      await childrenReach('', 2);
      expect([isIn, ours.isValid]).to.deep.equal([false, true]);
      await ours.release();
      await theirs;
      await survivor.owner('writer').release('write', lab.path);
      await childrenReach('', 0);
      await survivor.close();
    });
  }

  function childrenReach(folder: string, count: number): Promise<void> {
    return until(
      `${lab.path} has ${count} ${folder}`,
      async () => (await lab.observer.children(`${lab.path}/${folder}`.replace(/\/$/, ''))).length === count,
    );
  }

  /** Queues up, and resolves with the reason why it was not served. */
  function waits(owner: Owner, kind = 'mutex'): Promise<string> {
    return owner.acquire(kind, lab.path).then(() => 'served', String);
  }
});
