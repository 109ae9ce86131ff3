import { expect } from 'chai';
import { InterProcessMutex, InterProcessReadWriteLock, LockClient, type Hold } from '../../src/index.ts';
import { remove } from '../../src/zookeeper/wire/operations.ts';
import { answered, once } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { queueReaches } from '../../lab/queue.ts';

const heartbeats = new Set(['multi', 'sync', 'ping', 'connect']);

const sequenceOf = (path: string): number => Number(path.slice(-10));

describe('a znode behind one of its process', () => {
  const lab = labOfEachTest('right-behind', { server: 'own', proxy: true, client: { sessionTimeoutMs: 20_000 } });

  const requests = (): string[] =>
    lab.proxy.frames.filter(({ from, op }) => from === 'client' && !heartbeats.has(op)).map(({ op }) => op);

  const cycles = async (mutex: InterProcessMutex, count: number): Promise<void> => {
    for (const _ of Array.from({ length: count })) await (await mutex.acquire()).release();
  };

  /**
   * A mutex of each client. Our mutex was acquired so often that the distance in transactions proves that the parent is
   * the same.
   */
  const mutexes = async (name: string): Promise<{ ours: InterProcessMutex; theirs: InterProcessMutex }> => {
    const path = testPath(name);
    const ours = new InterProcessMutex(lab.client, path);
    await cycles(ours, 30);
    lab.proxy.clear();
    return { ours, theirs: new InterProcessMutex(lab.other, path) };
  };

  /** Checks that our acquire is not granted while `hold` exists, and is granted afterwards. */
  const waitsFor = async (hold: Hold, ours: InterProcessMutex, inQueue: number): Promise<void> => {
    let isGranted = false;
    const waiting = ours.acquire().finally(() => (isGranted = true));
    await queueReaches(ours, inQueue);
    // One connection answers in order: the replies to the list, if one is sent, and to the watch have arrived by then.
    await lab.proxy.seen(
      (frame) => isGranted || (frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path),
    );
    expect(isGranted).to.equal(false);
    expect(hold.isValid).to.equal(true);
    await hold.release();
    await (await waiting).release();
  };

  it('needs no list: repeated acquires without other clients send only create2 and delete', async () => {
    const { ours } = await mutexes('alone');
    await cycles(ours, 3);
    expect(requests()).to.deep.equal(['create2', 'delete', 'create2', 'delete', 'create2', 'delete']);
  });

  it('needs no list to wait behind the holder of this process or behind its waiters', async () => {
    const { ours, theirs } = await mutexes('waiters');
    const hold = await ours.acquire();
    const order: bigint[] = [];
    const waiters = Array.from({ length: 20 }, async () => {
      await using next = await ours.acquire();
      order.push(next.fencingToken);
    });
    await queueReaches(theirs, 21);
    await hold.release();
    await Promise.all(waiters);
    expect(order).to.deep.equal([...order].sort((a, b) => Number(a - b)));
    expect(requests().filter((op) => op === 'getChildren2')).to.deep.equal([]);
  });

  it('is deleted if the answer to its create comes after the timeout', async () => {
    const { ours } = await mutexes('late');
    await using _hold = await ours.acquire();
    once(lab.proxy, answered('create2'), 'hold');
    await rejection(ours.acquire({ timeoutMs: 300 }));
    expect(await lab.observer.children(ours.path)).to.have.length(2);
    lab.proxy.speak();
    await until('the znode is gone', async () => (await lab.observer.children(ours.path)).length === 1);
  });

  it('needs a list if another client was between', async () => {
    const { ours, theirs } = await mutexes('between');
    await waitsFor(await theirs.acquire(), ours, 2);
  });

  it('needs a list if another client was between and has left again', async () => {
    const { ours, theirs } = await mutexes('gone-again');
    await cycles(theirs, 1);
    await using _hold = await ours.acquire();
    expect(requests().filter((op) => op === 'getChildren2')).to.have.length(1);
  });

  it('needs a list behind a znode that gave up waiting', async () => {
    const { ours, theirs } = await mutexes('gave-up');
    const hold = await theirs.acquire();
    const controller = new AbortController();
    const givingUp = [1, 2].map(() => rejection(ours.acquire({ signal: controller.signal })));
    await queueReaches(ours, 3);
    controller.abort();
    await Promise.all(givingUp);
    await queueReaches(ours, 1);
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'delete', 2);
    lab.proxy.clear();
    await waitsFor(hold, ours, 2);
  });

  it('needs a list if the parent was removed and created anew with the same numbers', async () => {
    const { ours, theirs } = await mutexes('anew');
    await lab.other.session.request(remove(ours.path));
    await cycles(theirs, 29);
    const hold = await theirs.acquire();
    expect(hold.path).to.match(/0000000029$/);
    await waitsFor(hold, ours, 2);
  });

  it('needs a list behind a reader of this process, because other readers may hold as well', async () => {
    const { ours } = await mutexes('reader');
    const [theirs, own] = [lab.other, lab.client].map(
      (one) => new InterProcessReadWriteLock(one, `${ours.path}-of-readers`).readLock,
    ) as [InterProcessMutex, InterProcessMutex];
    const reading = await theirs.acquire();
    const hold = await own.acquire();
    const error = await rejection(new InterProcessMutex(lab.client, own.path).acquire());
    expect(error.code).to.equal('ERR_LOCK_FOREIGN_NODE');
    await Promise.all([hold.release(), reading.release()]);
  });

  it('needs a list for tryAcquire: of several that find the lock free, one gets it', async () => {
    const { ours } = await mutexes('tries');
    const tried = await Promise.all([ours.tryAcquire(), ours.tryAcquire(), ours.tryAcquire()]);
    expect(tried.filter((hold) => hold !== undefined)).to.have.length(1);
    await queueReaches(ours, 1);
    await tried.find((hold) => hold !== undefined)?.release();
  });

  it('needs a list if its znode was not checked for a while, because it may be deleted', async () => {
    const { ours } = await mutexes('looked-after');
    const hold = await ours.acquire();
    const waiting = ours.acquire();
    await queueReaches(ours, 2);
    const waitingPath = (await ours.participants())[1]?.path ?? '';
    await lab.other.session.request(remove(waitingPath));
    // Longer than the time without a watch.
    await lab.sleep(50);
    const loss = aborted(hold.signal);
    await lab.other.session.request(remove(hold.path));
    await loss;
    const next = await waiting;
    expect(next.path).not.to.equal(waitingPath);
    expect(next.isValid).to.equal(true);
    expect(await next.release()).to.equal('released');
  });

  it('needs a list after a reconnect: the holder’s event may come before its own', async () => {
    const { ours, theirs } = await mutexes('reconnect');
    const hold = await ours.acquire();
    const waiting = ours.acquire();
    await queueReaches(theirs, 2);
    const waitingPath = (await theirs.participants())[1]?.path ?? '';
    await until('both znodes are watched', () =>
      [hold.path, waitingPath].every((path) => lab.client.session.watches.paths('data').includes(path)),
    );
    await ours.participants(); // the reply to this request follows those of the watches
    let arrive = (): void => undefined;
    const delayUntil = new Promise<void>((resolve) => (arrive = resolve));
    lab.proxy.on((frame) => (frame.op === 'watch' && frame.path === waitingPath ? { delayUntil } : undefined));
    const loss = aborted(hold.signal);
    await lab.disconnect();
    for (const path of [waitingPath, hold.path]) await lab.other.session.request(remove(path));
    await lab.proxy.accept();
    await loss;
    arrive();
    const next = await waiting;
    expect(next.path).not.to.equal(waitingPath);
    expect(await next.release()).to.equal('released');
  });

  it('needs a list, because a backup that was restored gives the same numbers again', async () => {
    const { ours } = await mutexes('restored');
    const { id } = lab.client.session;
    await lab.server.kill();
    const restore = lab.server.backUp();
    await lab.server.start();
    await until('our client is connected again', () => lab.client.session.isConnected);
    await cycles(ours, 9);
    const last = await ours.acquire();
    await last.release();
    await lab.server.kill();
    restore();
    await lab.server.start();
    // A new client, because the servers refuse all others until their data have caught up.
    await using later = await LockClient.connect(lab.server.connectString);
    const theirs = new InterProcessMutex(later, ours.path);
    let holder = await theirs.acquire();
    while (sequenceOf(holder.path) < sequenceOf(last.path)) {
      await holder.release();
      holder = await theirs.acquire();
    }
    await cycles(new InterProcessMutex(later, testPath('elsewhere')), 4);
    await until('our client is connected again, in the same session', () => lab.client.session.isConnected);
    expect(lab.client.session.id).to.equal(id);
    await waitsFor(holder, ours, 2);
  });

  it('is listed if a listener wants the position in the queue', async () => {
    const { ours, theirs } = await mutexes('position');
    const positions: number[] = [];
    ours.on('queued', ({ position }) => positions.push(position));
    const hold = await theirs.acquire();
    const first = ours.acquire();
    await queueReaches(ours, 2);
    const second = ours.acquire();
    await queueReaches(ours, 3);
    await hold.release();
    await (await first).release();
    await (await second).release();
    expect(positions).to.deep.equal([1, 2]);
  });
});
