import { expect } from 'chai';
import { InterProcessMutex, watchQueue, type Hold, type LockQueue } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection, until } from '../../lab/until.ts';
import { type Frame } from '../../lab/proxy/zk-proxy.ts';
import { answered, once, sent } from '../../lab/proxy/frame-matches.ts';
import { setData } from '../../lab/semaphores.ts';

describe('watchQueue', () => {
  const lab = labOfEachTest('watched', {
    server: { containerCheckMs: 50 },
    proxy: true,
    client: { sessionTimeoutMs: 6_000 },
  });

  const lock = (): InterProcessMutex => new InterProcessMutex(lab.other, lab.path);
  const paths = ({ holder, waiters }: LockQueue): (string | undefined)[] => [
    holder?.path,
    ...waiters.map((waiter) => waiter.path),
  ];
  const next = async (queues: AsyncGenerator<LockQueue>): Promise<LockQueue> => {
    const { value, done } = (await queues.next()) as IteratorResult<LockQueue, undefined>;
    if (done) throw new Error('The iterator has ended');
    return value;
  };
  /** Waits until the server has this number of watches, of both kinds. A hold has one watch on its own znode. */
  const watchesAre = (count: number): Promise<void> =>
    until(`the server keeps ${count} watches`, async () =>
      new RegExp(`^zk_watch_count\\s${count}$`, 'm').test(await lab.server.command('mntr')),
    );
  const lists = (): number =>
    lab.proxy.frames.filter(
      (frame) => frame.from === 'client' && frame.op === 'getChildren2' && frame.path === lab.path,
    ).length;

  it('shows the holder and the waiters in their order, and every change', async () => {
    const first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    const alone = await next(queues);
    expect(paths(alone)).to.deep.equal([first.path]);
    expect(alone.holder).to.include({ sequence: 0, sessionId: `0x${lab.other.session.id.toString(16)}` });
    expect(alone.holder?.data.toString()).to.match(/^[\d.:a-f]+$/);

    const waiting = lock().acquire();
    const two = await next(queues);
    expect(paths(two)).to.have.length(2);
    expect(two.holder?.path).to.equal(first.path);
    await first.release();
    const second = await waiting;
    expect(paths(await next(queues))).to.deep.equal([second.path]);
    await second.release();
    expect(await next(queues)).to.deep.equal({ holder: undefined, waiters: [] });
    await queues.return();
    await watchesAre(0);
  });

  it('waits for a lock that does not exist yet, and again after the lock was removed', async () => {
    const queues = watchQueue(lab.client, lab.path);
    expect(paths(await next(queues))).to.deep.equal([undefined]);
    for (let round = 0; round < 2; round += 1) {
      const following = next(queues);
      const hold = await lock().acquire();
      let queue = await following;
      if (queue.holder === undefined) queue = await next(queues);
      expect(paths(queue)).to.deep.equal([hold.path]);
      const gone = next(queues);
      await hold.release();
      expect(paths(await gone)).to.deep.equal([undefined]);
      await until('the server has removed the lock', async () => !(await lab.observer.exists(lab.path)));
    }
    await queues.return();
    await watchesAre(0);
  });

  it('sends nothing while nothing changes, and one list for each change', async () => {
    const queues = watchQueue(lab.client, lab.path);
    const hold = await lock().acquire();
    await next(queues);
    lab.proxy.clear();
    const following = next(queues);
    for (let beats = 0; beats < 3; beats += 1) await lab.client.session.prove();
    expect(
      lab.proxy.frames.filter(({ from, path: asked }) => from === 'client' && asked?.startsWith(lab.path)),
    ).to.deep.equal([]);
    const waiting = lock().acquire();
    await following;
    expect(lists()).to.equal(1);
    await queues.return();
    await hold.release();
    await (await waiting).release();
  });

  it('reads each znode once, and the holder’s again, because its data may contain a request', async () => {
    const hold = await lock().acquire();
    const waiting = [lock().acquire()];
    await lab.queueReaches(2);
    const queues = watchQueue(lab.client, lab.path);
    const before = await next(queues);
    await setData(lab.other, hold.path, Buffer.from('a request'));
    lab.proxy.clear();
    const following = next(queues);
    waiting.push(lock().acquire());
    const { holder, waiters } = await following;
    expect(holder?.data.toString()).to.equal('a request');
    expect(waiters[0]).to.equal(before.waiters[0]);
    const asked = lab.proxy.frames
      .filter((frame) => frame.from === 'client' && frame.op === 'getData')
      .map((frame) => frame.path);
    expect(asked).to.deep.equal([hold.path, waiters[1]?.path]);
    await queues.return();
    await hold.release();
    for (const one of waiting) await (await one).release();
  });

  it('shows new data of the holder as soon as it reads the queue again, although no participant has come or left', async () => {
    await using hold = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    await setData(lab.other, hold.path, Buffer.from('a request'));
    const following = next(queues);
    await lab.observer.create(`${lab.path}/stranger`);
    expect((await following).holder?.data.toString()).to.equal('a request');
    await queues.return();
  });

  it('combines the changes that happen while the body of the loop runs', async () => {
    await using first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    lab.proxy.clear();
    const controller = new AbortController();
    const waiting = Array.from({ length: 5 }, () =>
      lock()
        .acquire({ signal: controller.signal })
        .catch(() => undefined),
    );
    await lab.queueReaches(6);
    await lab.client.session.prove();
    expect(lists()).to.equal(0);
    expect(paths(await next(queues))).to.have.length(6);
    controller.abort();
    await Promise.all(waiting);
    await lab.queueReaches(1);
    expect(paths(await next(queues))).to.deep.equal([first.path]);
    await queues.return();
  });

  it('reports a change that comes while it reads the queue', async () => {
    await using first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    let waiting: Promise<Hold> | undefined;
    once(lab.proxy, sent('getData'), () => {
      waiting = lock().acquire();
      return { delayUntil: lab.proxy.seen(answered('watch')) };
    });
    expect(paths(await next(queues))).to.deep.equal([first.path]);
    const readAt = lab.now();
    expect(paths(await next(queues))).to.have.length(2);
    expect(lab.now() - readAt).to.be.below(lab.client.session.timeoutMs);
    await queues.return();
    await first.release();
    await (await waiting)?.release();
  });

  it('does not repeat a queue after a waiter has come and left again', async () => {
    const first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    const controller = new AbortController();
    const passing = rejection(lock().acquire({ signal: controller.signal }));
    await lab.queueReaches(2);
    controller.abort();
    await passing;
    await lab.queueReaches(1);
    await lab.client.session.prove();
    const following = next(queues);
    await lab.client.session.prove();
    const waiting = lock().acquire();
    expect(paths(await following)).to.have.length(2);
    await queues.return();
    await first.release();
    await (await waiting).release();
  });

  it('continues after a lost connection, with the changes of the outage', async () => {
    const first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    const following = next(queues);
    await lab.disconnect();
    const waiting = lock().acquire();
    await lab.queueReaches(2);
    await lab.proxy.accept();
    expect(paths(await following)).to.have.length(2);
    await first.release();
    const second = await waiting;
    expect(paths(await next(queues))).to.deep.equal([second.path]);
    await second.release();
    await queues.return();
  });

  it('reports a change before the last reply of a connection that was lost before the list', async () => {
    const first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    const isWatchEvent = (frame: Frame): boolean =>
      frame.from === 'server' && frame.op === 'watch' && frame.path === lab.path;
    lab.proxy.clear();
    const answered = lab.proxy.seen(isWatchEvent).then(async () => {
      void lab.client.session.prove().catch(() => undefined);
      await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'multi');
    });
    once(lab.proxy, isWatchEvent, { delayUntil: answered });
    once(lab.proxy, (frame) => frame.from === 'client' && frame.op === 'getChildren2', 'cut');
    const waiting = lock().acquire();
    const following = next(queues);
    expect(paths(await following)).to.have.length(2);
    await queues.return();
    await first.release();
    await (await waiting).release();
  });

  it('continues in the next session', async () => {
    const first = await lock().acquire();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    const following = next(queues);
    const before = lab.client.session.id;
    await lab.observer.endSession(lab.client);
    await until(
      'the next session is connected',
      () => lab.client.session.id !== before && lab.client.session.isConnected,
    );
    const waiting = lock().acquire();
    expect(paths(await following)).to.have.length(2);
    await first.release();
    const second = await waiting;
    expect(paths(await next(queues))).to.deep.equal([second.path]);
    await second.release();
    await queues.return();
  });

  it('makes the server of each session catch up before the first list, because the server may lag behind', async () => {
    const asked = (): Frame['op'][] =>
      lab.proxy.frames
        .filter(
          ({ from, op, path }) => from === 'client' && path === lab.path && (op === 'sync' || op === 'getChildren2'),
        )
        .map(({ op }) => op);
    lab.proxy.clear();
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    const following = next(queues);
    const hold = await lock().acquire();
    await following;
    expect(asked()[0]).to.equal('sync');
    expect(asked().filter((op) => op === 'sync')).to.have.length(1);
    lab.proxy.clear();
    const later = next(queues);
    await lab.observer.endSession(lab.client);
    await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'getChildren2' && frame.path === lab.path);
    expect(asked()[0]).to.equal('sync');
    await hold.release();
    await later;
    await queues.return();
  });

  it('ends when its signal aborts, in a wait or in the body, and leaves no watch', async () => {
    await using _hold = await lock().acquire();
    await watchesAre(1);
    for (const isWaiting of [true, false]) {
      const controller = new AbortController();
      const queues = watchQueue(lab.client, lab.path, { signal: controller.signal });
      await next(queues);
      const following = isWaiting ? queues.next() : undefined;
      await watchesAre(2);
      controller.abort();
      await watchesAre(1);
      expect(await (following ?? queues.next())).to.deep.equal({ value: undefined, done: true });
    }
  });

  it('ends while it reads a changed queue of a lock with weights, and leaves no watch', async () => {
    const weighted = new InterProcessMutex(lab.other, lab.path, { weights: {} });
    await using _hold = await weighted.acquire();
    const controller = new AbortController();
    const queues = watchQueue(lab.client, lab.path, { signal: controller.signal });
    await next(queues);
    const following = queues.next();
    once(lab.proxy, sent('getChildren2'), () => (controller.abort(), 'pass'));
    const joining = weighted.acquire();
    expect(await following).to.deep.equal({ value: undefined, done: true });
    await lab.client.session.prove();
    const { watches } = lab.client.session;
    expect([...watches.paths('data'), ...watches.paths('children')]).to.deep.equal([]);
    await _hold.release();
    await (await joining).release();
  });

  it('ends at once although the server does not answer, and watches nothing after the answer', async () => {
    const controller = new AbortController();
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'getChildren2' ? 'hold' : undefined));
    const ending = watchQueue(lab.client, lab.path, { signal: controller.signal }).next();
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getChildren2');
    controller.abort();
    expect(await ending).to.deep.equal({ value: undefined, done: true });
    expect(lab.client.state, 'the connection is not lost').to.equal('connected');
    lab.proxy.speak();
    await lab.client.session.prove();
    await watchesAre(0);
  });

  it('ends without a queue if its signal has already aborted', async () => {
    expect(await watchQueue(lab.client, lab.path, { signal: AbortSignal.abort() }).next()).to.deep.equal({
      value: undefined,
      done: true,
    });
    expect(lists()).to.equal(0);
  });

  it('ends when the client is closed', async () => {
    const queues = watchQueue(lab.client, lab.path);
    await next(queues);
    const ending = queues.next();
    await lab.client.close();
    expect(await ending).to.deep.equal({ value: undefined, done: true });
    expect(() => watchQueue(lab.client, lab.path))
      .to.throw()
      .with.property('code', 'ERR_LOCK_CLIENT_CLOSED');
  });

  it('leaves no watch when the loop ends, even of a lock that does not exist', async () => {
    for await (const queue of watchQueue(lab.client, lab.path)) {
      expect(queue.holder).to.equal(undefined);
      await watchesAre(1);
      break;
    }
    await watchesAre(0);
    await using hold = await lock().acquire();
    for await (const queue of watchQueue(lab.client, lab.path)) {
      expect(queue.holder?.path).to.equal(hold.path);
      await watchesAre(2);
      break;
    }
    await watchesAre(1);
  });

  it('makes the loop throw if ZooKeeper refuses', async () => {
    lab.proxy.on((frame) =>
      frame.from === 'server' && frame.op === 'getChildren2' && frame.path === lab.path
        ? { replaceError: -102 }
        : undefined,
    );
    const error = await rejection(watchQueue(lab.client, lab.path).next());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain(lab.path).and.to.contain('NO_AUTH');
  });

  it('refuses invalid input when it is called', () => {
    expect(() => watchQueue(lab.client, 'locks'))
      .to.throw()
      .with.property('code', 'ERR_LOCK_INVALID_PATH');
    expect(() => watchQueue(lab.client, lab.path, { singal: undefined } as never)).to.throw(
      TypeError,
      'Unknown option `singal` of watchQueue',
    );
    expect(() => watchQueue(lab.client, lab.path, { signal: 5 } as never)).to.throw(
      TypeError,
      'Expected `signal` to be an AbortSignal, got 5',
    );
    expect(() => watchQueue({} as never, lab.path)).to.throw(TypeError, 'Expected `client`');
  });
});
