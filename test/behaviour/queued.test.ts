import { expect } from 'chai';
import { InterProcessMutex, watchQueue } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches } from '../../lab/queue.ts';
import { rejection, until } from '../../lab/until.ts';

const kazoos = '9d3a40af0a1b4c2d8e3f405162738495__lock__0000000004';
const kazoosReader = 'ad3a40af0a1b4c2d8e3f405162738495__rlock__0000000005';
const goZookeepers = '_c_9d3a40af0a1b4c2d8e3f405162738495-lock-0000000000';

describe("'queued'", () => {
  const lab = labOfEachTest('queued');

  it('is emitted once per waiter with position and znode, and not for an immediate grant', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path);
    const emitted: { position: number; path: string }[] = [];
    mutex.on('queued', (event) => emitted.push(event));
    const hold = await mutex.acquire();
    expect(emitted).to.deep.equal([]);
    const waiting = [mutex.acquire(), mutex.acquire()];
    await until('both acquires are queued', () => emitted.length === 2);
    const [, ...waiters] = await mutex.participants();
    expect(emitted).to.deep.equal([
      { position: 1, path: waiters[0]?.path },
      { position: 2, path: waiters[1]?.path },
    ]);
    expect(await mutex.tryAcquire()).to.equal(undefined);
    await hold.release();
    for (const next of waiting) await (await next).release();
    expect(emitted).to.have.length(2);
  });

  it('is not emitted again for a waiter that moves up', async () => {
    const hold = await new InterProcessMutex(lab.other, lab.path).acquire();
    const mutex = new InterProcessMutex(lab.client, lab.path);
    const emitted: number[] = [];
    mutex.on('queued', ({ position }) => emitted.push(position));
    const controller = new AbortController();
    const leaving = rejection(mutex.acquire({ signal: controller.signal }));
    const moving = mutex.acquire();
    await until('both acquires are queued', () => emitted.length === 2);
    const [holder] = await mutex.participants();
    controller.abort();
    await leaving;
    await until('the waiter watches the holder', () =>
      lab.client.session.watches.paths('data').includes(holder?.path ?? ''),
    );
    await hold.release();
    await (await moving).release();
    expect(emitted).to.deep.equal([1, 2]);
  });

  it('is emitted again when a waiter queues up with another znode', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path);
    const hold = await new InterProcessMutex(lab.other, lab.path).acquire();
    const emitted: string[] = [];
    mutex.on('queued', ({ path }) => emitted.push(path));
    const waiting = mutex.acquire();
    await until('the waiter is queued', () => emitted.length === 1);
    await lab.observer.remove(emitted[0] ?? '');
    await until('the waiter is queued again', () => emitted.length === 2);
    await hold.release();
    await using next = await waiting;
    expect(next.path).to.equal(emitted[1]);
  });

  it('stops with off, and is emitted once with once', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path);
    await using _hold = await mutex.acquire();
    const emitted: string[] = [];
    const listener = (): void => void emitted.push('on');
    mutex.on('queued', listener).off('queued', listener);
    mutex.once('queued', () => emitted.push('once'));
    for (const _ of [1, 2]) {
      const controller = new AbortController();
      const waiting = rejection(mutex.acquire({ signal: controller.signal }));
      await queueReaches(mutex, 2);
      controller.abort();
      await waiting;
      await queueReaches(mutex, 1);
    }
    expect(emitted).to.deep.equal(['once']);
    expect(() => mutex.on('queue' as never, listener)).to.throw(TypeError, "Expected `event` to be one of 'queued'");
  });
});

describe("other clients' znodes", () => {
  const lab = labOfEachTest('foreign');

  beforeEach(async () => {
    await lab.observer.create(lab.path.slice(0, lab.path.lastIndexOf('/')));
    await lab.observer.create(lab.path);
    for (const name of [kazoos, kazoosReader, goZookeepers, 'config']) await lab.observer.create(`${lab.path}/${name}`);
  });

  const shown = async (mutex: InterProcessMutex): Promise<(string | number)[][]> =>
    (await mutex.participants()).map(({ path, sequence }) => [path.slice(lab.path.length + 1), sequence]);

  it("are participants if their names have Curator's form, with its number", async () => {
    expect(await shown(new InterProcessMutex(lab.client, lab.path))).to.deep.equal([[goZookeepers, 0]]);
  });

  it("are all participants with foreignNodes: 'wait', in Curator's order", async () => {
    const all = [goZookeepers, kazoos, kazoosReader, 'config'].map((name) => [name, 0]);
    expect(await shown(new InterProcessMutex(lab.client, lab.path, { foreignNodes: 'wait' }))).to.deep.equal(all);
  });

  it("are included by watchQueue if their names have Curator's form", async () => {
    for await (const { holder, waiters } of watchQueue(lab.client, lab.path)) {
      expect([holder, ...waiters].map((participant) => participant?.sequence)).to.deep.equal([0]);
      expect(holder?.sessionId).to.equal('0x0');
      break;
    }
  });

  it('of go-zookeeper are always waited for', async () => {
    await lab.observer.remove(`${lab.path}/config`);
    await lab.observer.remove(`${lab.path}/${kazoos}`);
    await lab.observer.remove(`${lab.path}/${kazoosReader}`);
    const mutex = new InterProcessMutex(lab.client, lab.path);
    const waiting = mutex.acquire();
    await until('the waiter is queued', async () => (await mutex.participants()).length === 2);
    await lab.observer.remove(`${lab.path}/${goZookeepers}`);
    await (await waiting).release();
  });
});
