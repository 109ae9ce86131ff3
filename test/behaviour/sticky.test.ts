import { expect } from 'chai';
import { InterProcessMutex, revoke, type Hold } from '../../src/index.ts';
import { Grant } from '../../src/internals/grant.ts';
import { answered, from, once as atNext } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { LeaseDriver } from '../../src/semaphore/lease-driver.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { RecordWriter } from '../../lab/wire/record.ts';
import { queueReaches } from '../../lab/queue.ts';

/** Curator's order, with names that end like those of leases. */
const leaseLike = new LeaseDriver(() => 1);

describe('a sticky lock', () => {
  const lab = labOfEachTest('sticky', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  const sticky = (path = testPath('sticky'), idleMs = 60_000): InterProcessMutex =>
    new InterProcessMutex(lab.client, path, { sticky: { idleMs } });
  const once = async (mutex: InterProcessMutex): Promise<Hold> => {
    const hold = await mutex.acquire();
    await hold.release();
    return hold;
  };
  const writes = (): string[] =>
    lab.proxy.frames
      .filter(({ from: side, op }) => side === 'client' && ['create2', 'delete'].includes(op))
      .map(({ op }) => op);

  /** Acquires and releases, and waits until other clients see the lock as idle. */
  const idle = async (mutex: InterProcessMutex): Promise<Hold> => {
    const hold = await once(mutex);
    await until(
      'the znode is marked idle',
      async () => (await new InterProcessMutex(lab.other, mutex.path).participants())[0]?.isIdle === true,
    );
    return hold;
  };

  it('keeps its znode after a release, and grants it again without a request, with a new grant number', async () => {
    const mutex = sticky();
    const first = await idle(mutex);
    lab.proxy.clear();
    const again = await mutex.acquire();
    expect([again.path, again.fencingToken]).to.deep.equal([first.path, first.fencingToken]);
    expect([first.grantNumber, again.grantNumber]).to.deep.equal([0n, 1n]);
    expect([first.isValid, again.isValid]).to.deep.equal([false, true]);
    expect(await again.release()).to.equal('released');
    expect(writes()).to.deep.equal([]);
    expect(await lab.observer.children(mutex.path)).to.have.length(1);
  });

  it('serves many local waiters in the order of their calls, with one znode', async () => {
    const mutex = sticky();
    const order: number[] = [];
    let inside = 0;
    await Promise.all(
      Array.from({ length: 500 }, async (_, index) => {
        await using _hold = await mutex.acquire();
        expect((inside += 1)).to.equal(1);
        order.push(index);
        await Promise.resolve();
        inside -= 1;
      }),
    );
    expect(order).to.deep.equal(order.map((_, index) => index));
    expect(writes()).to.deep.equal(['create2', 'create2']); // the first create found no parents
  });

  it('is given up at the release when the list shows another client', async () => {
    const mutex = sticky();
    const hold = await mutex.acquire();
    const waiting = new InterProcessMutex(lab.other, mutex.path).acquire();
    await queueReaches(new InterProcessMutex(lab.other, mutex.path), 2);
    const releasedAt = lab.now();
    await hold.release();
    await (await waiting).release();
    // Much sooner than the idle time.
    expect(lab.now() - releasedAt).to.be.below(1_000);
    expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
  });

  it('is given up after the release when the answer to its list is lost, while another client waits', async () => {
    const mutex = sticky();
    const hold = await mutex.acquire();
    const waiting = new InterProcessMutex(lab.other, mutex.path).acquire();
    await queueReaches(new InterProcessMutex(lab.other, mutex.path), 2);
    // Shows the client a transaction after the create of the waiter, so the next connection does not report the waiter.
    await lab.client.session.prove();
    atNext(lab.proxy, (frame) => answered('getChildren2')(frame) && frame.path === mutex.path, 'cut');
    const releasedAt = lab.now();
    await hold.release();
    await (await waiting).release();
    // Sooner than the next question, after a session timeout.
    expect(lab.now() - releasedAt).to.be.below(2_000);
  });

  it('is given up when one packet brings the list without another client, and the news of that client', async () => {
    const mutex = sticky();
    const hold = await mutex.acquire();
    let list: Frame | undefined;
    lab.proxy.on((frame) => {
      if (frame.from !== 'server' || frame.path !== mutex.path) return undefined;
      if (frame.op === 'getChildren2' && list === undefined) {
        list = frame;
        return 'drop';
      }
      if (frame.op !== 'watch' || list === undefined) return undefined;
      return { replaceWith: new RecordWriter().bytes(list.body).bytes(frame.body).body() };
    });
    await hold.release();
    await until('the list is on its way', () => list !== undefined);
    const calledAt = lab.now();
    await (await new InterProcessMutex(lab.other, mutex.path).acquire()).release();
    // Much sooner than the idle time, and than the next question.
    expect(lab.now() - calledAt).to.be.below(1_000);
  });

  it('is given up while it is idle when another client queues up', async () => {
    const mutex = sticky();
    await idle(mutex);
    const calledAt = lab.now();
    await using _hold = await new InterProcessMutex(lab.other, mutex.path).acquire();
    // Much sooner than the idle time.
    expect(lab.now() - calledAt).to.be.below(1_000);
    expect(await lab.observer.children(mutex.path)).to.have.length(1);
  });

  it('serves local waiters from before the news first, then the other client, then later ones', async () => {
    const mutex = sticky();
    await idle(mutex);
    const order: string[] = [];
    const logAs =
      (name: string) =>
      async (hold: Hold): Promise<void> => {
        order.push(name);
        await hold.release();
      };
    const holder = await mutex.acquire();
    const before = [1, 2].map((index) => mutex.acquire().then(logAs(`before ${index}`)));
    const news = lab.proxy.seen((frame) => from('server', 'watch')(frame) && frame.path === mutex.path);
    const remote = new InterProcessMutex(lab.other, mutex.path).acquire().then(logAs('remote'));
    await news;
    await mutex.participants(); // one connection is read in order
    const after = [1, 2].map((index) => mutex.acquire().then(logAs(`after ${index}`)));
    await queueReaches(new InterProcessMutex(lab.other, mutex.path), 3);
    await holder.release();
    await Promise.all([...before, remote, ...after]);
    expect(order).to.deep.equal(['before 1', 'before 2', 'remote', 'after 1', 'after 2']);
  });

  it('lets no late list of its queue free a lock that it has granted meanwhile', async () => {
    const mutex = sticky();
    const hold = await mutex.acquire();
    const [first, second] = [mutex.acquire(), mutex.acquire()];
    let isSecondServed = false;
    void second.then(() => (isSecondServed = true));
    // The client reads that it is asked to release the lock when the release asks who waits.
    const read = lab.proxy.seen(from('client', 'getData'));
    await revoke(lab.other, hold.path);
    await read;
    await hold.release();
    const one = await first;
    await lab.sleep(500);
    expect([one.isValid, isSecondServed]).to.deep.equal([true, false]);
    await one.release();
    await (await second).release();
  });

  it('that had to wait serves the other clients before local waiters that come after its grant', async () => {
    const mutex = sticky(lab.path);
    const order: string[] = [];
    const logAs =
      (name: string) =>
      async (hold: Hold): Promise<void> => {
        order.push(name);
        await hold.release();
      };
    const first = await lab.theirs.acquire();
    const own = mutex.acquire();
    await queueReaches(lab.theirs, 2);
    const remote = lab.theirs.acquire().then(logAs('remote'));
    await queueReaches(lab.theirs, 3);
    await first.release();
    const hold = await own;
    const later = mutex.acquire().then(logAs('later'));
    await mutex.participants();
    await hold.release();
    await Promise.all([remote, later]);
    expect(order).to.deep.equal(['remote', 'later']);
  });

  it('that a local tryAcquire got first serves the callers that wait already before later ones', async () => {
    const mutex = sticky(lab.path);
    await (await lab.theirs.acquire()).release(); // the parents exist from now on
    const order: string[] = [];
    const callAs = async (name: string): Promise<void> => {
      await using _hold = await mutex.acquire();
      order.push(name);
    };
    const waiting: Promise<void>[] = [];
    // A caller comes while the try creates its znode, so it queues up behind that znode.
    atNext(lab.proxy, from('client', 'create2'), () => (waiting.push(callAs('earlier')), 'pass'));
    const hold = await mutex.tryAcquire();
    expect(hold?.isValid).to.equal(true);
    await queueReaches(lab.theirs, 2);
    waiting.push(callAs('later'));
    await hold?.release();
    await Promise.all(waiting);
    expect(order).to.deep.equal(['earlier', 'later']);
  });

  it('leaves no listener on its znode after a release, because thousands of grants share the znode', async () => {
    const mutex = sticky();
    await using kept = await mutex.acquire();
    const [grant] = lab.client.session.holdings;
    if (!(grant instanceof Grant)) throw new Error('The client holds nothing');
    const { node } = grant;
    let listeners = 0;
    const counted =
      <Args extends unknown[]>(add: (...args: Args) => () => void) =>
      (...args: Args) => {
        const remove = add(...args);
        listeners += 1;
        return () => {
          listeners -= 1;
          remove();
        };
      };
    node.onGone = counted(node.onGone.bind(node));
    node.watch.onMark = counted(node.watch.onMark.bind(node.watch));
    await kept.release();
    await using again = await mutex.acquire();
    expect([again.path, listeners]).to.deep.equal([kept.path, 2]);
    await again.release();
    expect(listeners).to.equal(0);
  });

  it('leaves no watch on the servers after its idle time', async () => {
    const mutex = sticky(testPath('unwatched'), 500);
    await once(mutex);
    const isOfLock = (frame: Frame): boolean => frame.path === mutex.path;
    await lab.proxy.seen((frame) => from('server', 'getChildren2')(frame));
    lab.proxy.clear();
    await lab.proxy.seen((frame) => from('client', 'removeWatches')(frame) && isOfLock(frame));
    await until('the znode is gone', async () => (await lab.observer.children(mutex.path)).length === 0);
  });

  for (const [end, giveUp] of [
    ['its idle time', () => lab.sleep(1_000)],
    ['another process has taken it', async () => (await lab.theirs.acquire()).release()],
  ] as const)
    it(`lets its session send no heartbeats after ${end}`, async () => {
      const mutex = sticky(lab.path, 500);
      await once(mutex);
      await giveUp();
      await until('the znode is gone', async () => (await lab.observer.children(mutex.path)).length === 0);
      // Its session stays active for one timeout.
      await lab.sleep(2 * lab.client.session.timeoutMs);
      lab.proxy.clear();
      await lab.sleep(4 * lab.client.session.timeoutMs);
      expect(lab.proxy.frames.filter(from('client', 'multi'))).to.deep.equal([]);
    });

  it('is shown as idle in the participants, and as used when it is used again', async () => {
    const mutex = sticky();
    await idle(mutex);
    const hold = await mutex.acquire();
    const rival = new InterProcessMutex(lab.other, mutex.path);
    await until('the lock is shown as used', async () => (await rival.participants())[0]?.isIdle === false);
    expect((await rival.participants())[0]?.data.toString()).to.match(/^[\d.:a-f]+$/);
    await hold.release();
    await until('the lock is shown as idle again', async () => (await rival.participants())[0]?.isIdle === true);
  });

  for (const side of ['client', 'server'] as const) {
    const frame = side === 'client' ? 'request' : 'reply';

    it(`is shown as idle, and as used again, even if a ${frame} that writes this is lost`, async () => {
      const mutex = sticky();
      let isNext = true;
      lab.proxy.on((frame) => {
        if (!from(side, 'setData')(frame) || !isNext) return undefined;
        isNext = false;
        return 'cut';
      });
      await idle(mutex);
      await until('the first write was lost', () => !isNext);
      isNext = true;
      const hold = await mutex.acquire();
      const rival = new InterProcessMutex(lab.other, mutex.path);
      await until('the lock is shown as used', async () => (await rival.participants())[0]?.isIdle === false);
      await hold.release();
      await until('the lock is shown as idle again', async () => (await rival.participants())[0]?.isIdle === true);
    });
  }

  it('is shown as used again, also if it is used before the server has answered that it is idle', async () => {
    const mutex = sticky();
    atNext(lab.proxy, answered('setData'), 'hold');
    await once(mutex);
    await lab.proxy.seen(answered('setData'));
    await using _hold = await mutex.acquire();
    lab.proxy.speak();
    const rival = new InterProcessMutex(lab.other, mutex.path);
    await until('the lock is shown as used', async () => (await rival.participants())[0]?.isIdle === false);
  });

  it('is seen as idle as soon as it is connected again, if it became idle during an outage', async () => {
    const mutex = sticky();
    const hold = await mutex.acquire();
    const suspended = new Promise((resolve) => lab.client.once('state', resolve));
    const stop = lab.proxy.on((frame) => {
      if (!from('server', 'getChildren2')(frame)) return undefined;
      stop();
      void lab.proxy.refuse();
      setImmediate(() => lab.proxy.cut());
      return 'pass';
    });
    await hold.release();
    await suspended;
    await lab.sleep(100);
    expect(lab.proxy.frames.filter(from('client', 'setData'))).to.have.length(0);
    await lab.proxy.accept();
    await until(
      'the lock is shown as idle',
      async () => (await new InterProcessMutex(lab.other, mutex.path).participants())[0]?.isIdle === true,
    );
  });

  it('does not overwrite data that another client has written', async () => {
    const mutex = sticky();
    const { path } = await idle(mutex);
    await lab.observer.write(path, 'theirs');
    const hold = await mutex.acquire();
    await lab.proxy.seen(from('server', 'setData'), 2);
    lab.proxy.clear();
    await hold.release();
    await lab.proxy.seen(from('server', 'getData'));
    expect(await lab.observer.read(path)).to.equal('theirs');
    expect(lab.proxy.frames.filter(from('client', 'setData'))).to.have.length(0);
  });

  it('writes nothing after its end, also if the answer to its last write comes later', async () => {
    const mutex = sticky();
    atNext(lab.proxy, answered('setData'), 'hold');
    await once(mutex);
    await lab.proxy.seen(answered('setData'));
    const hold = await mutex.acquire({ leaseMs: 50 });
    await aborted(hold.signal);
    lab.proxy.speak();
    await until('the znode is gone', async () => (await lab.observer.children(mutex.path)).length === 0);
    await lab.client.session.prove();
    expect(lab.proxy.frames.filter(from('client', 'setData'))).to.have.length(1);
  });

  it('can be taken by another process’s tryAcquire while it is idle, but not while it is used', async () => {
    const mutex = sticky();
    await idle(mutex);
    const rival = new InterProcessMutex(lab.other, mutex.path);
    const hold = await rival.tryAcquire();
    expect(hold?.isValid).to.equal(true);
    await hold?.release();
    await using _own = await mutex.acquire();
    expect(await rival.tryAcquire()).to.equal(undefined);
  });

  it('is taken while idle by a tryAcquire that writes the data of the call into its znode', async () => {
    const mutex = sticky();
    await idle(mutex);
    const rival = new InterProcessMutex(lab.other, mutex.path);
    await using hold = await rival.tryAcquire({ data: Buffer.from('job 7') });
    expect(hold?.isValid).to.equal(true);
    expect((await rival.participants()).map(({ data }) => data.toString())).to.deep.equal(['job 7']);
  });

  it('can also be taken while idle if its driver uses names like those of leases', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path, { driver: leaseLike, sticky: { idleMs: 60_000 } });
    const rival = new InterProcessMutex(lab.other, lab.path, { driver: leaseLike });
    await once(mutex);
    await until('the znode is marked idle', async () => (await rival.participants())[0]?.isIdle === true);
    expect(await rival.isLocked()).to.equal(false);
    const hold = await rival.tryAcquire();
    expect(hold?.isValid).to.equal(true);
    await hold?.release();
  });

  it('is not taken by another process’s tryAcquire that is given up while it reads that the lock is idle', async () => {
    const keeper = new InterProcessMutex(lab.other, testPath('sticky'), { sticky: { idleMs: 60_000 } });
    const { path } = await idle(keeper);
    const limit = new AbortController();
    atNext(lab.proxy, answered('getData'), () => (limit.abort(new Error('given up')), 'pass'));
    const trying = new InterProcessMutex(lab.client, keeper.path).tryAcquire({ signal: limit.signal });
    expect(await rejection(trying)).to.include({ message: 'given up' });
    await lab.sleep(2_000);
    expect((await keeper.participants()).map((one) => one.path)).to.deep.equal([path]);
    expect(writes()).to.deep.equal([]);
  });

  it('can be taken by a local tryAcquire while it is idle, but not while it is used', async () => {
    const mutex = sticky();
    const first = await mutex.tryAcquire();
    expect(await mutex.tryAcquire()).to.equal(undefined);
    await first?.release();
    let second: Hold | undefined;
    await until('the lock is idle', async () => (second = await mutex.tryAcquire()) !== undefined);
    expect(second?.path).to.equal(first?.path);
    await second?.release();
  });

  it('is given up after its idle time', async () => {
    const mutex = sticky(testPath('given-up'), 30);
    await once(mutex);
    await until('the znode is gone', async () => (await lab.observer.children(mutex.path)).length === 0);
    await using next = await mutex.acquire();
    expect(next.grantNumber).to.equal(0n);
  });

  it('is deleted with its client', async () => {
    const mutex = sticky();
    await once(mutex);
    await lab.client.close();
    expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
  });

  it('is not granted again while no connection could bring the news', async () => {
    const mutex = sticky();
    await idle(mutex);
    await lab.proxy.refuse();
    const suspended = new Promise((resolve) => lab.client.once('state', resolve));
    lab.proxy.cut();
    expect(await suspended).to.equal('suspended');
    let isGranted = false;
    const waiting = mutex.acquire().finally(() => (isGranted = true));
    expect(await mutex.tryAcquire()).to.equal(undefined);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isGranted).to.equal(false);
    await lab.proxy.accept();
    await using hold = await waiting;
    expect(hold.isValid).to.equal(true);
  });

  it('learns of a client that queued up during an outage before it grants anything', async () => {
    const mutex = sticky();
    await idle(mutex);
    await lab.disconnect();
    const order: string[] = [];
    const remote = new InterProcessMutex(lab.other, mutex.path).acquire().then((hold) => (order.push('remote'), hold));
    await queueReaches(new InterProcessMutex(lab.other, mutex.path), 2);
    await lab.proxy.accept();
    const first = mutex.acquire().then((hold) => (order.push('own'), hold.release()));
    await (await remote).release();
    await first;
    // Local waiters that queued before the reconnect may be served before the other client; later ones may not.
    expect([...order].sort()).to.deep.equal(['own', 'remote']);
    expect(
      await new InterProcessMutex(lab.other, mutex.path).tryAcquire(2_000).then((hold) => hold?.release()),
    ).to.equal('released');
  });

  it('serves no waiter with a znode that was deleted during an outage', async () => {
    const mutex = sticky();
    const first = await idle(mutex);
    await lab.disconnect();
    const waiting = mutex.acquire();
    await lab.observer.remove(first.path);
    await lab.proxy.accept();
    await using hold = await waiting;
    expect(hold.path).not.to.equal(first.path);
  });

  it('can be taken by a local tryAcquire soon after a reconnect', async () => {
    const mutex = sticky();
    const first = await idle(mutex);
    const suspended = new Promise((resolve) => lab.client.once('state', resolve));
    lab.proxy.cut();
    await suspended;
    expect(await new Promise((resolve) => lab.client.once('state', resolve))).to.equal('reconnected');
    await lab.sleep(100);
    const hold = await mutex.tryAcquire();
    expect(hold?.path).to.equal(first.path);
    await hold?.release();
  });

  it('starts over if its znode is deleted', async () => {
    const mutex = sticky();
    const first = await idle(mutex);
    await lab.observer.remove(first.path);
    await until('the client has seen the deletion', async () => {
      const hold = await mutex.acquire();
      await hold.release();
      return hold.path !== first.path;
    });
    const hold = await mutex.acquire();
    await lab.observer.remove(hold.path);
    expect(await aborted(hold.signal)).to.have.property('reason', 'node-deleted');
    expect(await hold.release()).to.equal('lost');
    await once(mutex);
  });

  it('that is always in use also learns of the deletion, and serves no more waiters', async () => {
    const mutex = sticky();
    const rival = new InterProcessMutex(lab.other, mutex.path);
    let isOver = false;
    const held = new Set<Hold>();
    let lost = 0;
    const work = async (): Promise<void> => {
      while (!isOver) {
        const hold = await mutex.acquire();
        held.add(hold);
        await lab.sleep(5);
        if ((await hold.release()) === 'lost') lost += 1;
        held.delete(hold);
      }
    };
    const workers = Array.from({ length: 60 }, work);
    // The lock is in use from its first grant, so that there is no quiet moment to set the watch.
    await until('the lock has been granted repeatedly', () => [...held].some((hold) => hold.grantNumber > 20n));
    const [{ path: znode } = { path: '' }] = held;
    await lab.observer.remove(znode);
    const taken = await rival.acquire();
    await mutex.participants(); // one connection is read in order: the event of the deletion came before
    expect([...held].filter((hold) => hold.path === znode && hold.isValid)).to.deep.equal([]);
    isOver = true;
    await taken.release();
    await Promise.all(workers);
    expect(lost).to.equal(1);
  });

  it('whose session ends takes its local waiters into the next session', async () => {
    const mutex = sticky();
    const hold = await mutex.acquire();
    const waiting = mutex.acquire();
    await lab.proxy.refuse();
    await lab.observer.endSession(lab.client);
    lab.proxy.cut();
    await lab.proxy.accept();
    expect(await aborted(hold.signal)).to.have.property('reason', 'session-expired');
    await using next = await waiting;
    expect(next.path).to.not.equal(hold.path);
    expect(await hold.release()).to.equal('lost');
  });

  it('leaves no znode in the queue when all local waiters have given up', async () => {
    const hold = await lab.theirs.acquire();
    const mutex = sticky(lab.path);
    const outcomes = [20, 30].map((timeoutMs) => rejection(mutex.acquire({ timeoutMs })));
    expect((await Promise.all(outcomes)).map(({ code }) => code)).to.deep.equal([
      'ERR_LOCK_TIMEOUT',
      'ERR_LOCK_TIMEOUT',
    ]);
    await lab.queueReaches(1);
    const waiting = mutex.acquire();
    await hold.release();
    await (await waiting).release();
  });

  it('serves a caller that comes in the step in which the only waiter gives up', async () => {
    const remote = await lab.theirs.acquire();
    const mutex = sticky(lab.path);
    const aborter = new AbortController();
    const givingUp = rejection(mutex.acquire({ signal: aborter.signal }));
    await queueReaches(mutex, 2);
    aborter.abort(new Error('enough'));
    const waiting = mutex.acquire();
    expect((await givingUp).message).to.equal('enough');
    await remote.release();
    await (await waiting).release();
  });

  it('serves the next waiter if a caller gives up in the step in which it is served', async () => {
    const mutex = sticky();
    await idle(mutex);
    const hold = await mutex.acquire();
    const aborter = new AbortController();
    const givingUp = rejection(mutex.acquire({ signal: aborter.signal }));
    const waiting = mutex.acquire({ timeoutMs: 1_000 });
    void hold.release();
    aborter.abort(new Error('enough'));
    expect((await givingUp).message).to.equal('enough');
    expect((await waiting).path).to.equal(hold.path);
    await (await waiting).release();
  });

  it('lets timers run while it is acquired repeatedly', async () => {
    // This client needs no reply from the servers during the test: only the pauses of the lock itself let timers run.
    const mutex = new InterProcessMutex(lab.other, testPath('sticky'), { sticky: { idleMs: 60_000 } });
    await idle(mutex);
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    for (let acquires = 0; ticks < 3 && acquires < 100_000; acquires += 1) await once(mutex);
    clearInterval(timer);
    expect(ticks).to.equal(3);
  });

  describe('with a local tryAcquire', () => {
    /** The result of the try after this turn of the event loop and two more. */
    const soon = async (trying: Promise<Hold | undefined>): Promise<Hold | 'waits' | undefined> => {
      const turns = (async (): Promise<'waits'> => {
        for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return 'waits';
      })();
      return Promise.race([trying, turns]);
    };

    /** Acquires the idle lock until it pauses: the last call is served after an I/O turn. */
    const untilItPauses = async (
      mutex: InterProcessMutex,
      ask: () => Promise<Hold | undefined>,
    ): Promise<{ readonly asked: Promise<Hold | undefined> }> => {
      await idle(mutex);
      await mutex.participants(); // one connection is read in order: no answer lies unread any more
      for (let cycle = 0; cycle < 1_000; cycle += 1) {
        const is = { settled: false };
        const asked = ask().finally(() => (is.settled = true));
        for (let step = 0; step < 100 && !is.settled; step += 1) await Promise.resolve();
        if (!is.settled) return { asked };
        await (await asked)?.release();
      }
      throw new Error('The lock does not pause');
    };

    it('returns undefined at once if no server has answered lately', async () => {
      const mutex = sticky();
      await idle(mutex);
      lab.proxy.silence();
      const { session, host } = lab.client;
      await until(
        'a quarter of the timeout has passed',
        () => host.clock.now() - session.connection.heardAt >= session.timeoutMs / 4,
      );
      expect(session.isConnected).to.equal(true);
      expect(await soon(mutex.tryAcquire())).to.equal(undefined);
      lab.proxy.speak();
      await once(mutex);
    });

    it('returns undefined at once while another local waiter is queued', async () => {
      const mutex = sticky();
      const { asked } = await untilItPauses(mutex, () => mutex.acquire());
      expect(await soon(mutex.tryAcquire())).to.equal(undefined);
      expect(await (await asked)?.release()).to.equal('released');
    });

    it('returns undefined if the servers were silent for too long before its turn', async () => {
      const mutex = sticky();
      const { asked } = await untilItPauses(mutex, () => mutex.tryAcquire());
      lab.proxy.silence();
      lab.stall(lab.client.session.timeoutMs / 4);
      expect(await soon(asked)).to.equal(undefined);
      lab.proxy.speak();
      await once(mutex);
    });
  });

  it('re-enters like any other lock', async () => {
    const mutex = sticky();
    const outcome = await mutex.withLock(async (outer) => mutex.withLock((inner) => inner.path === outer.path));
    expect(outcome).to.equal(true);
    await once(mutex);
  });

  it('requires idleMs', () => {
    const made = (options: unknown) => () =>
      new InterProcessMutex(lab.client, '/a', { sticky: options as { idleMs: number } });
    expect(made({})).to.throw(TypeError, '`sticky.idleMs`');
    expect(made({ idleMs: -1 })).to.throw(
      RangeError,
      'Expected `sticky.idleMs` to be a finite number of milliseconds ≥ 0, got -1',
    );
    expect(made({ idleMs: 5, idle: 3 })).to.throw(TypeError, 'Unknown option `idle` of sticky');
    expect(made(true)).to.throw(TypeError, '`sticky options`');
  });
});
