import { expect } from 'chai';
import { InterProcessMutex, InterProcessReadWriteLock, LockClient, type Hold } from '../../src/index.ts';
import { remove } from '../../src/zookeeper/operations.ts';
import { labOfEachTest } from '../../harness/lab.ts';
import { testPath } from '../../harness/test-path.ts';
import { aborted, rejection, until } from '../../harness/until.ts';
import { queueReaches } from '../../harness/queue.ts';

const heartbeats = new Set(['multi', 'sync', 'ping', 'connect']);

const sequenceOf = (path: string): number => Number(path.slice(-10));

describe('a znode with the next number after another one of this process', () => {
  const lab = labOfEachTest('right-behind', { server: 'own', proxy: true, client: { sessionTimeoutMs: 20_000 } });

  const requests = (): string[] =>
    lab.proxy.frames.filter(({ from, op }) => from === 'client' && !heartbeats.has(op)).map(({ op }) => op);

  const cycles = async (mutex: InterProcessMutex, count: number): Promise<void> => {
    for (const _ of Array.from({ length: count })) await (await mutex.acquire()).release();
  };

  /**
   * A mutex of each client. Ours was acquired so often that the distance in transactions proves that the folder is the
   * same one.
   */
  const scene = async (name: string): Promise<{ ours: InterProcessMutex; theirs: InterProcessMutex }> => {
    const path = testPath(name);
    const ours = new InterProcessMutex(lab.client, path);
    await cycles(ours, 30);
    lab.proxy.clear();
    return { ours, theirs: new InterProcessMutex(lab.other, path) };
  };

  /** Ours is not granted while `hold` is there, and is when it has gone. */
  const waitsFor = async (hold: Hold, ours: InterProcessMutex, inQueue: number): Promise<void> => {
    let isGranted = false;
    const waiting = ours.acquire().finally(() => (isGranted = true));
    await queueReaches(ours, inQueue);
    // One connection answers in order: by then the list, where one is asked for, and the watch have been answered.
    await lab.proxy.seen(
      (frame) => isGranted || (frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path),
    );
    expect(isGranted).to.equal(false);
    expect(hold.isValid).to.equal(true);
    await hold.release();
    await (await waiting).release();
  };

  it('needs no list: whoever takes the lock again and again with nobody else asking sends create2 and delete', async () => {
    const { ours } = await scene('alone');
    await cycles(ours, 3);
    expect(requests()).to.deep.equal(['create2', 'delete', 'create2', 'delete', 'create2', 'delete']);
  });

  it('needs no list to wait behind the holder of this process, nor behind those who wait', async () => {
    const { ours, theirs } = await scene('line');
    const hold = await ours.acquire();
    const order: bigint[] = [];
    const line = Array.from({ length: 20 }, async () => {
      const next = await ours.acquire();
      order.push(next.fencingToken);
      await next.release();
    });
    await queueReaches(theirs, 21);
    await hold.release();
    await Promise.all(line);
    expect(order).to.deep.equal([...order].sort((a, b) => Number(a - b)));
    expect(requests().filter((op) => op === 'getChildren2')).to.deep.equal([]);
  });

  it('does need one when somebody else was between', async () => {
    const { ours, theirs } = await scene('between');
    await waitsFor(await theirs.acquire(), ours, 2);
  });

  it('does need one when somebody else was between and has gone again', async () => {
    const { ours, theirs } = await scene('gone-again');
    await cycles(theirs, 1);
    const hold = await ours.acquire();
    expect(requests().filter((op) => op === 'getChildren2')).to.have.length(1);
    await hold.release();
  });

  it('does need one behind one that gave up waiting', async () => {
    const { ours, theirs } = await scene('gave-up');
    const hold = await theirs.acquire();
    const controller = new AbortController();
    const impatient = [1, 2].map(() => rejection(ours.acquire({ signal: controller.signal })));
    await queueReaches(ours, 3);
    controller.abort();
    await Promise.all(impatient);
    await queueReaches(ours, 1);
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'delete', 2);
    lab.proxy.clear();
    await waitsFor(hold, ours, 2);
  });

  it('does need one when the numbers are those of a parent that was removed and created anew', async () => {
    const { ours, theirs } = await scene('anew');
    await lab.other.session.request(remove(ours.path));
    await cycles(theirs, 29);
    const hold = await theirs.acquire();
    expect(hold.path).to.match(/0000000029$/);
    await waitsFor(hold, ours, 2);
  });

  it('does need one behind a reader of this process, which is not alone', async () => {
    const { ours } = await scene('reader');
    const [theirs, own] = [lab.other, lab.client].map(
      (one) => new InterProcessReadWriteLock(one, `${ours.path}-of-readers`).readLock,
    ) as [InterProcessMutex, InterProcessMutex];
    const reading = await theirs.acquire();
    const hold = await own.acquire();
    const error = await rejection(new InterProcessMutex(lab.client, own.path).acquire());
    expect(error.code).to.equal('ERR_LOCK_FOREIGN_NODE');
    await Promise.all([hold.release(), reading.release()]);
  });

  it('does need one for who only tries: of two that find the lock free, one gets it, and the other does not wait', async () => {
    const { ours } = await scene('tries');
    const tried = await Promise.all([ours.tryAcquire(), ours.tryAcquire(), ours.tryAcquire()]);
    expect(tried.filter((hold) => hold !== undefined)).to.have.length(1);
    await queueReaches(ours, 1);
    await tried.find((hold) => hold !== undefined)?.release();
  });

  it('does need one that nobody has looked after for a while: somebody may have deleted it', async () => {
    const { ours } = await scene('looked-after');
    const hold = await ours.acquire();
    const waiting = ours.acquire();
    await queueReaches(ours, 2);
    const waitingPath = (await ours.participants())[1]?.path ?? '';
    const queuedAt = performance.now();
    await lab.other.session.request(remove(waitingPath));
    await until('it has waited for longer than a hold goes without a watch', () => performance.now() - queuedAt > 50);
    const told = aborted(hold.signal);
    await lab.other.session.request(remove(hold.path));
    await told;
    const next = await waiting;
    expect(next.path).not.to.equal(waitingPath);
    expect(next.isValid).to.equal(true);
    expect(await next.release()).to.equal('released');
  });

  it('does need one after a reconnect, where the end of the holder may be told before that of its own znode', async () => {
    const { ours, theirs } = await scene('reconnect');
    const hold = await ours.acquire();
    const waiting = ours.acquire();
    await queueReaches(theirs, 2);
    const waitingPath = (await theirs.participants())[1]?.path ?? '';
    await until('both are watched', () =>
      [hold.path, waitingPath].every((path) => lab.client.session.watchedPaths('data').includes(path)),
    );
    await ours.participants(); // answered behind the watches
    let arrive = (): void => undefined;
    const delayUntil = new Promise<void>((resolve) => (arrive = resolve));
    lab.proxy.on((frame) => (frame.op === 'watch' && frame.path === waitingPath ? { delayUntil } : undefined));
    const told = aborted(hold.signal);
    await lab.proxy.refuse();
    lab.proxy.cut();
    for (const path of [waitingPath, hold.path]) await lab.other.session.request(remove(path));
    await lab.proxy.accept();
    await told;
    arrive();
    const next = await waiting;
    expect(next.path).not.to.equal(waitingPath);
    expect(await next.release()).to.equal('released');
  });

  it('does need one where the znode before it was created on another connection: a backup that was restored gives the same numbers again', async function () {
    this.timeout(60_000);
    const { ours } = await scene('restored');
    const { server } = lab;
    const { id } = lab.client.session;
    await server.kill();
    const restore = server.backUp();
    await server.start();
    await until('ours is back', () => lab.client.session.isConnected);
    await cycles(ours, 9);
    const last = await ours.acquire();
    await last.release();
    await server.kill();
    restore();
    await server.start();
    // A client that knows nothing of what was lost: the servers refuse all others until they have caught up.
    await using later = await LockClient.connect(server.connectString);
    const theirs = new InterProcessMutex(later, ours.path);
    let holder = await theirs.acquire();
    while (sequenceOf(holder.path) < sequenceOf(last.path)) {
      await holder.release();
      holder = await theirs.acquire();
    }
    await cycles(new InterProcessMutex(later, testPath('elsewhere')), 4);
    await until('ours is back, in the same session', () => lab.client.session.isConnected);
    expect(lab.client.session.id).to.equal(id);
    await waitsFor(holder, ours, 2);
  });

  it('is listed when somebody wants to be told how many are before it', async () => {
    const { ours, theirs } = await scene('position');
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
