import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { InterProcessMutex, type Hold } from '../../src/index.ts';
import { createEphemeral, openAcl, remove } from '../../src/zookeeper/wire/operations.ts';
import { multi } from '../../src/zookeeper/wire/transaction.ts';
import { answered, once, sent } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches } from '../../lab/queue.ts';
import { rejection, until } from '../../lab/until.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';

/** A sixth of it is longer than a test: no heartbeat is among the requests that the tests count. */
const sessionTimeoutMs = 60_000;

describe('look-ahead: a waiter behind waiters of other processes', () => {
  const lab = labOfEachTest('look-ahead', { server: 'own', proxy: true, client: { sessionTimeoutMs } });

  /** Creates znodes as other clients do, the first in the queue first. Returns their paths. */
  const queueOf = async (...names: readonly string[]): Promise<string[]> => {
    await (await lab.mutex.acquire()).release();
    await lab.queueReaches(0);
    const paths = names.map((name, index) => `${lab.path}/${name}lock-${String(index + 1).padStart(10, '0')}`);
    for (const path of paths) await lab.observer.create(path);
    return paths;
  };
  const curators = (count: number): string[] => Array.from({ length: count }, () => `_c_${randomUUID()}-`);
  const queueOfCurators = (count: number): Promise<string[]> => queueOf(...curators(count));

  interface Waiter {
    readonly granted: Promise<Hold>;
    isGranted(): boolean;
    /** The path of the waiter's znode. */
    readonly path: string;
  }

  /** Begins to wait, and resolves when the waiter watches these znodes, and after a second its own one. */
  const waiterBehind = async (watched: readonly string[], { watchesItself = false } = {}): Promise<Waiter> => {
    const before = await lab.observer.children(lab.path);
    let isGranted = false;
    const granted = lab.mutex.acquire().finally(() => (isGranted = true));
    granted.catch(() => undefined);
    const isNew = (name: string): boolean => !before.includes(name);
    await until('the waiter has a znode', async () => (await lab.observer.children(lab.path)).some(isNew));
    const path = `${lab.path}/${(await lab.observer.children(lab.path)).find(isNew) ?? ''}`;
    const all = watchesItself ? [path, ...watched] : watched;
    for (const one of all) await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === one);
    await settled();
    lab.proxy.clear();
    return { granted, isGranted: () => isGranted, path };
  };

  /** One connection answers in order: the client has processed all earlier frames. */
  const settled = async (): Promise<void> => {
    await new InterProcessMutex(lab.client, '/elsewhere').participants();
  };

  const requests = (): string[] =>
    lab.proxy.frames
      .filter(({ from, path }) => from === 'client' && path?.startsWith(lab.path) === true)
      .map(({ op, path = '' }) => (path === lab.path ? op : `${op} ${Number(path.slice(-10))}`));
  /** The list of this queue: `settled` asks for another one. */
  const listed = (frame: Frame): boolean => answered('getChildren2')(frame) && frame.path === lab.path;
  const lists = (): number => requests().filter((request) => request === 'getChildren2').length;
  const eventOf = (path: string | undefined) => (frame: Frame) => frame.op === 'watch' && frame.path === path;

  it('at index 2 is granted without a list when the two znodes before it are deleted in turn', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const waiter = await waiterBehind([first, second], { watchesItself: true });
    await lab.observer.remove(first);
    await lab.proxy.seen(eventOf(first));
    await settled();
    expect(waiter.isGranted(), 'the second znode exists').to.equal(false);
    await lab.observer.remove(second);
    await using _hold = await waiter.granted;
    expect(requests()).to.deep.equal([]);
  });

  it('at index 2 is granted without a list when its predecessor gives up, and then the holder releases', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const waiter = await waiterBehind([first, second], { watchesItself: true });
    await lab.observer.remove(second);
    await lab.proxy.seen(eventOf(second));
    await settled();
    expect(waiter.isGranted(), 'the holder exists').to.equal(false);
    await lab.observer.remove(first);
    await using _hold = await waiter.granted;
    expect(requests()).to.deep.equal([]);
  });

  it('at index 2 is granted without a list when both znodes before it are deleted in one transaction', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const waiter = await waiterBehind([first, second], { watchesItself: true });
    await lab.other.session.request(multi(remove(first), remove(second)));
    await using _hold = await waiter.granted;
    expect(requests()).to.deep.equal([]);
  });

  for (const count of [3, 5])
    it(`at index ${count} lists while its predecessor holds the lock, and is granted without a list`, async () => {
      const paths = await queueOfCurators(count);
      const waiter = await waiterBehind(paths.slice(-2));
      for (const path of paths.slice(0, -2)) await lab.observer.remove(path);
      await settled();
      expect(requests(), 'the waiter watches only the last two').to.deep.equal([]);
      await lab.observer.remove(paths.at(-2) ?? '');
      await lab.proxy.seen(listed);
      await settled();
      expect(requests().sort(), 'its predecessor stays watched').to.deep.equal([
        'getChildren2',
        `getData ${count + 1}`,
      ]);
      expect(waiter.isGranted()).to.equal(false);
      lab.proxy.clear();
      await lab.observer.remove(paths.at(-1) ?? '');
      await using _hold = await waiter.granted;
      expect(requests()).to.deep.equal([]);
    });

  it('at index 3 waits for the holder when both znodes before it are deleted in one transaction', async () => {
    const [first = '', second = '', third = ''] = await queueOfCurators(3);
    // The watch on its own znode is planted after a second. Without that watch, the waiter lists in any case.
    const waiter = await waiterBehind([second, third], { watchesItself: true });
    await lab.other.session.request(multi(remove(second), remove(third)));
    await lab.proxy.seen(eventOf(third));
    await settled();
    await settled();
    expect(waiter.isGranted()).to.equal(false);
    await lab.observer.remove(first);
    await (await waiter.granted).release();
  });

  it('at index 3 lists again if the list shows znodes that it knows to be deleted', async () => {
    const [first = '', second = '', third = ''] = await queueOfCurators(3);
    const waiter = await waiterBehind([second, third], { watchesItself: true });
    // A server that lags behind the last one may answer a client with the queue of that moment.
    let lagging: Buffer | undefined;
    once(lab.proxy, answered('getChildren2'), ({ body }) => ((lagging = Buffer.from(body)), 'pass'));
    await lab.mutex.participants();
    once(lab.proxy, answered('getChildren2'), ({ xid }) => {
      lagging?.writeInt32BE(xid, 0);
      return { replaceWith: framed(lagging ?? Buffer.alloc(0)) };
    });
    lab.proxy.clear();
    await lab.other.session.request(multi(remove(second), remove(third)));
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === first);
    await settled();
    expect(lists()).to.equal(2);
    // The second list waits until the server has caught up. Otherwise the waiter would list without a pause.
    expect(lab.proxy.frames.filter((frame) => sent('sync')(frame) && frame.path === lab.path)).to.have.length(1);
    expect(waiter.isGranted()).to.equal(false);
    await lab.observer.remove(first);
    await (await waiter.granted).release();
  });

  it('at index 3 looks one place further ahead when a waiter in the middle gives up', async () => {
    const [first = '', second = '', third = '', fourth = ''] = await queueOfCurators(4);
    const waiter = await waiterBehind([third, fourth]);
    await lab.observer.remove(third);
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === second);
    await settled();
    expect(requests(), 'its predecessor stays watched').to.deep.equal(['getData 5', 'getChildren2', 'getData 2']);
    lab.proxy.clear();
    await lab.observer.remove(second);
    await lab.proxy.seen(listed);
    await settled();
    expect(waiter.isGranted(), 'the holder and the predecessor exist').to.equal(false);
    lab.proxy.clear();
    await lab.observer.remove(fourth);
    await lab.proxy.seen(eventOf(fourth));
    await settled();
    expect(waiter.isGranted(), 'the holder exists').to.equal(false);
    await lab.observer.remove(first);
    await using _hold = await waiter.granted;
    expect(lists()).to.equal(0);
  });

  it('at index 3 keeps the watch on the znode before, when its predecessor gives up', async () => {
    const [first = '', second = '', third = ''] = await queueOfCurators(3);
    const waiter = await waiterBehind([second, third]);
    await lab.observer.remove(third);
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === first);
    await settled();
    expect(requests().sort()).to.deep.equal(['getChildren2', 'getData 1', 'getData 4']);
    expect(waiter.isGranted()).to.equal(false);
    await lab.observer.remove(first);
    await lab.proxy.seen(eventOf(first));
    await settled();
    expect(waiter.isGranted(), 'its new predecessor exists').to.equal(false);
    await lab.observer.remove(second);
    await (await waiter.granted).release();
  });

  /** Delivers the answer to the next list together with this event, in one write: the list first, or the event first. */
  const inOneChunk = (path: string, order: 'list first' | 'event first'): void => {
    let list: Frame | undefined;
    once(lab.proxy, answered('getChildren2'), (frame) => {
      list = frame;
      void lab.observer.remove(path);
      return 'drop';
    });
    once(lab.proxy, eventOf(path), (event) => {
      const frames = list ? [list, event] : [event];
      return inOneWrite(...(order === 'list first' ? frames : frames.reverse()));
    });
  };

  const inOneWrite = (...frames: readonly Frame[]): { readonly replaceWith: Buffer } => ({
    replaceWith: Buffer.concat(frames.map(({ body }) => framed(body))),
  });

  for (const order of ['list first', 'event first'] as const)
    it(`is granted without another list when the list and the deletion arrive in one chunk, the ${order}`, async () => {
      const [, second = '', third = ''] = await queueOfCurators(3);
      const waiter = await waiterBehind([second, third]);
      inOneChunk(third, order);
      await lab.other.session.request(multi(...(await all()).slice(0, 2).map((path) => remove(path))));
      await using _hold = await waiter.granted;
      expect(lists()).to.equal(1);
    });

  it('is granted if the answer to the read of its predecessor, a list and the deletion arrive in one chunk', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const frames: Frame[] = [];
    const keep = (frame: Frame): 'drop' => (frames.push(frame), 'drop');
    // So that the waiter asks for another list.
    once(lab.proxy, (frame) => sent('getData')(frame) && frame.path === first, {
      delayUntil: lab.proxy.seen(listed, 3).then(() => lab.observer.remove(first)),
    });
    once(lab.proxy, (frame) => answered('getData')(frame) && frame.path === second, keep);
    once(
      lab.proxy,
      (frame) => listed(frame) && frames.length === 1,
      (frame) => {
        void lab.observer.remove(second);
        return keep(frame);
      },
    );
    once(lab.proxy, eventOf(second), (event) => inOneWrite(...frames, event));
    await (await lab.mutex.acquire({ timeoutMs: 10_000 })).release();
    expect(frames).to.have.length(2);
  });

  /** All znodes of the queue, the first one first. */
  const all = async (): Promise<string[]> =>
    (await lab.observer.children(lab.path))
      .sort((a, b) => Number(a.slice(-10)) - Number(b.slice(-10)))
      .map((name) => `${lab.path}/${name}`);

  it('waits for the holder when the list shows a predecessor that gave up during it', async () => {
    const [first = '', second = '', third = '', fourth = ''] = await queueOfCurators(4);
    const waiter = await waiterBehind([third, fourth]);
    inOneChunk(fourth, 'list first');
    await lab.observer.remove(third);
    await lab.proxy.seen(answered('getChildren2'), 2);
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === first);
    await settled();
    expect(waiter.isGranted(), 'two znodes are before it').to.equal(false);
    await lab.observer.remove(second);
    await lab.proxy.seen(eventOf(second));
    await settled();
    expect(waiter.isGranted(), 'the holder exists').to.equal(false);
    await lab.observer.remove(first);
    await (await waiter.granted).release();
  });

  it('that is second queues up again if another client deletes its znode', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const waiter = await waiterBehind([first, second], { watchesItself: true });
    await lab.observer.remove(first);
    await lab.other.session.request(multi(remove(waiter.path), remove(second)));
    await using hold = await waiter.granted;
    expect(hold.path).not.to.equal(waiter.path);
    expect(hold.isValid).to.equal(true);
  });

  it('that is second is not granted without a list if the watch on its own znode was not answered', async () => {
    const [first = '', second = '', third = ''] = await queueOfCurators(3);
    lab.proxy.on(({ from, op, path = '' }) => {
      if (from !== 'server' || !path.startsWith(`${lab.path}/`) || [first, second, third].includes(path))
        return undefined;
      return op === 'watch' ? 'drop' : op === 'getData' ? { replaceError: noAuth } : undefined;
    });
    const waiter = await waiterBehind([second, third]);
    await lab.other.session.request(multi(remove(first), remove(second)));
    await lab.proxy.seen(listed);
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === waiter.path);
    await lab.other.session.request(multi(remove(waiter.path), remove(third)));
    await using hold = await waiter.granted;
    expect(hold.path).not.to.equal(waiter.path);
    expect(hold.isValid).to.equal(true);
  });

  it('that cannot read the znode before its predecessor lists when its predecessor is deleted', async () => {
    const [, second = ''] = await queueOfCurators(2);
    const unreadable = `${lab.path}/lock-0000000000`;
    await lab.observer.create(unreadable, [{ permissions: 30, scheme: 'world', id: 'anyone' }]);
    await lab.observer.remove((await all())[1] ?? '');
    const waiter = await waiterBehind([unreadable, second], { watchesItself: true });
    await lab.observer.remove(unreadable);
    await settled();
    expect(requests()).to.deep.equal([]);
    await lab.observer.remove(second);
    await (await waiter.granted).release();
    expect(lists()).to.equal(1);
  });

  it('that cannot read the znode before its predecessor lists if its predecessor is deleted first', async () => {
    const [first = '', second = '', third = ''] = await queueOfCurators(3);
    const waiter = await waiterBehind([second, third]);
    const ofFirst = (side: Frame['from']) => (frame: Frame) =>
      frame.from === side && frame.op === 'getData' && frame.path === first;
    once(lab.proxy, ofFirst('client'), () => ({
      delayUntil: lab.observer.remove(third).then(() => lab.proxy.seen(eventOf(third))),
    }));
    once(lab.proxy, ofFirst('server'), { replaceError: noAuth });
    await lab.observer.remove(second);
    await lab.proxy.seen(ofFirst('server'), 2);
    await settled();
    expect(waiter.isGranted()).to.equal(false);
    await lab.observer.remove(first);
    await (await waiter.granted).release();
  });

  it('keeps its watches when the data of the watched znodes change, without a list', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const waiter = await waiterBehind([first, second], { watchesItself: true });
    for (const path of [first, second]) {
      await lab.observer.touch(path);
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === path);
    }
    await lab.observer.remove(second);
    await lab.observer.remove(first);
    await (await waiter.granted).release();
    expect(lists()).to.equal(0);
  });

  it('that gives up removes both watches, and deletes its znode', async () => {
    const [first = '', second = ''] = await queueOfCurators(2);
    const controller = new AbortController();
    const givingUp = rejection(lab.mutex.acquire({ signal: controller.signal }));
    for (const path of [first, second])
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === path);
    await settled();
    lab.proxy.clear();
    controller.abort();
    await givingUp;
    await lab.proxy.seen(answered('delete'));
    expect(requests().sort()).to.deep.equal(['delete 3', 'removeWatches 1', 'removeWatches 2']);
  });

  it('names in its timeout the number of znodes that are left before it, and the holder', async () => {
    const [first = ''] = await queueOfCurators(1);
    const second = `${lab.path}/_c_${randomUUID()}-lock-0000000002`;
    await lab.other.session.request(createEphemeral(second, Buffer.from('10.0.0.2'), openAcl));
    const controller = new AbortController();
    const failing = rejection(lab.mutex.acquire({ timeoutMs: 5_000, signal: controller.signal }));
    for (const path of [first, second])
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === path);
    await lab.observer.remove(first);
    const error = await failing;
    expect(error).to.include({ code: 'ERR_LOCK_TIMEOUT', position: 1 });
    expect(error.message).to.contain('10.0.0.2');
  });

  describe('after a reconnect', () => {
    const isConnect = (frame: Frame): boolean => frame.from === 'server' && frame.op === 'connect';

    /** Cuts the connection, changes the queue, and lets the client connect again. */
    const outage = async (change: () => Promise<unknown>): Promise<void> => {
      await lab.disconnect();
      await change();
      lab.proxy.clear();
      await lab.proxy.accept();
      await lab.proxy.seen(isConnect);
    };
    const deleting =
      (...paths: readonly string[]) =>
      (): Promise<unknown> =>
        lab.other.session.request(multi(...paths.map((path) => remove(path))));

    it('reads its own znode again while it is second, and is granted without a list', async () => {
      const [first = '', second = ''] = await queueOfCurators(2);
      const waiter = await waiterBehind([first, second], { watchesItself: true });
      await outage(deleting(first));
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === waiter.path);
      await settled();
      expect(waiter.isGranted()).to.equal(false);
      await lab.observer.remove(second);
      await (await waiter.granted).release();
      expect(lists()).to.equal(0);
    });

    it('is not granted if its own znode was deleted as well, whichever event comes first', async () => {
      const [first = '', second = ''] = await queueOfCurators(2);
      const waiter = await waiterBehind([first, second], { watchesItself: true });
      // The server may report the deletions in any order. Here the event of its own znode would be the last.
      lab.proxy.on((frame) => (eventOf(waiter.path)(frame) ? 'drop' : undefined));
      await outage(deleting(waiter.path, first, second));
      await using hold = await waiter.granted;
      expect(hold.path).not.to.equal(waiter.path);
      expect(hold.isValid).to.equal(true);
    });

    it('at index 2 is granted if both znodes before it were deleted', async () => {
      const [first = '', second = ''] = await queueOfCurators(2);
      const waiter = await waiterBehind([first, second], { watchesItself: true });
      await outage(deleting(first, second));
      await using hold = await waiter.granted;
      expect(hold.path).to.equal(waiter.path);
    });

    for (const [which, gone] of Object.entries({
      'its predecessor was': [3],
      'the znode before its predecessor was': [2],
      'both were': [2, 3],
    }))
      it(`at index 3 waits for the holder if ${which} deleted`, async () => {
        const paths = await queueOfCurators(3);
        const waiter = await waiterBehind(paths.slice(1));
        await outage(deleting(...gone.map((number) => paths[number - 1] ?? '')));
        await lab.proxy.seen(listed);
        await settled();
        await settled();
        expect(waiter.isGranted()).to.equal(false);
        for (const path of (await all()).slice(1, -1)) await lab.observer.remove(path);
        await settled();
        expect(waiter.isGranted(), 'the holder exists').to.equal(false);
        await lab.observer.remove(paths[0] ?? '');
        await using hold = await waiter.granted;
        expect(hold.path).to.equal(waiter.path);
      });

    it('lists again if the answer to the list was lost', async () => {
      const [first = '', second = '', third = ''] = await queueOfCurators(3);
      const waiter = await waiterBehind([second, third], { watchesItself: true });
      once(lab.proxy, answered('getChildren2'), 'cut');
      await deleting(first, second)();
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === waiter.path);
      await settled();
      lab.proxy.clear();
      await lab.observer.remove(third);
      await (await waiter.granted).release();
      expect(lists()).to.equal(0);
    });
  });

  it('waits for the holder when the session of a waiter in the middle ends', async () => {
    const middle = await lab.connect({}, lab.connectString);
    const hold = await lab.theirs.acquire();
    const waitingInMiddle = new InterProcessMutex(middle, lab.path).acquire().catch(() => undefined);
    await queueReaches(lab.theirs, 2);
    const [, path = ''] = await all();
    const waiter = await waiterBehind([hold.path, path], { watchesItself: true });
    await lab.observer.endSession(middle);
    await lab.proxy.seen(eventOf(path));
    await settled();
    expect(waiter.isGranted()).to.equal(false);
    await hold.release();
    const next = await waiter.granted;
    expect(lists()).to.equal(0);
    await next.release();
    await (await waitingInMiddle)?.release();
  });

  describe('behind a znode of its own process', () => {
    it('learns of its deletion in memory, and is granted without a list', async () => {
      const hold = await lab.mutex.acquire();
      const middle = lab.theirs.acquire();
      await queueReaches(lab.mutex, 2);
      const [, path = ''] = await all();
      lab.proxy.clear();
      const waiter = await waiterBehind([path], { watchesItself: true });
      await hold.release();
      const theirs = await middle;
      await settled();
      expect(waiter.isGranted()).to.equal(false);
      await theirs.release();
      await using _next = await waiter.granted;
      expect(requests().filter((request) => request !== `delete ${Number(hold.path.slice(-10))}`)).to.deep.equal([]);
    });

    it('is linked to it when the waiter between them gives up', async () => {
      const hold = await lab.mutex.acquire();
      const controller = new AbortController();
      const givingUp = rejection(lab.theirs.acquire({ signal: controller.signal }));
      await queueReaches(lab.mutex, 2);
      const [, path = ''] = await all();
      const waiter = await waiterBehind([path], { watchesItself: true });
      controller.abort();
      await givingUp;
      await lab.proxy.seen(listed);
      await settled();
      await settled();
      expect(waiter.isGranted()).to.equal(false);
      lab.proxy.clear();
      await hold.release();
      await (await waiter.granted).release();
      expect(requests(), 'one transaction hands over').to.deep.equal([
        `multi ${Number(waiter.path.slice(-10))}`,
        `delete ${Number(waiter.path.slice(-10))}`,
      ]);
    });
  });

  describe('with names of other clients in the queue', () => {
    it('looks ahead past the names of ZooKeeper’s recipe, of go-zookeeper and of Curator', async () => {
      const [first = '', second = '', third = ''] = await queueOf(
        `${randomUUID()}-`,
        `_c_${randomUUID().replaceAll('-', '')}-`,
        '',
      );
      const waiter = await waiterBehind([second, third]);
      await lab.other.session.request(multi(remove(first), remove(second)));
      await lab.proxy.seen(listed);
      await settled();
      await lab.observer.remove(third);
      await (await waiter.granted).release();
      expect(lists()).to.equal(1);
    });

    it('does not look ahead beside kazoo’s names, because the next one may sort before the waiter', async () => {
      await queueOf();
      const foreign = `${lab.path}/${'0'.repeat(28)}beef__lock__0000000001`;
      const native = `${lab.path}/lock-0000000001`;
      for (const path of [foreign, native]) await lab.observer.create(path);
      const tolerant = new InterProcessMutex(lab.client, lab.path, { foreignNodes: 'wait' });
      let isGranted = false;
      const granted = tolerant.acquire().finally(() => (isGranted = true));
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === native);
      await settled();
      expect(lab.proxy.frames.filter(({ op, path }) => op === 'getData' && path === foreign)).to.deep.equal([]);
      lab.proxy.clear();
      await lab.observer.remove(native);
      await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === foreign);
      await settled();
      expect(isGranted).to.equal(false);
      await lab.observer.remove(foreign);
      await (await granted).release();
    });
  });
});

const noAuth = -102;

/** A frame with its length in front. */
function framed(body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length);
  return Buffer.concat([length, body]);
}
