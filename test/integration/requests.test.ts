import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../harness/lab.ts';
import { testPath } from '../../harness/test-path.ts';
import { rejection } from '../../harness/until.ts';
import { type Frame } from '../../harness/zk-proxy.ts';

/** What the session sends by itself, to stay alive. */
const heartbeats = new Set(['multi', 'sync', 'ping', 'connect']);

describe('what goes over the wire', () => {
  const lab = labOfEachTest('requests', { server: 'own', proxy: true });

  beforeEach(async () => {
    // The first container of a client goes alone; what is counted here comes after it.
    await (await new InterProcessMutex(lab.client, testPath('first')).acquire()).release();
    lab.proxy.clear();
  });

  const requests = (): string[] => frames((frame) => frame.from === 'client');
  const frames = (match: (frame: Frame) => boolean): string[] =>
    lab.proxy.frames
      .filter((frame) => match(frame) && !heartbeats.has(frame.op))
      .map((frame) => (frame.from === 'client' ? frame.op : `${frame.op} answered`));
  const answered = (op: Frame['op'], count?: number): Promise<Frame> =>
    lab.proxy.seen((frame) => frame.from === 'server' && frame.op === op, count);

  const ready = async (name: string): Promise<InterProcessMutex> => {
    const mutex = new InterProcessMutex(lab.client, testPath(name));
    await (await mutex.acquire()).release();
    await answered('delete');
    lab.proxy.clear();
    return mutex;
  };

  it('an uncontended acquire takes one round trip: create2 and the list in one flush', async () => {
    const mutex = await ready('uncontended');
    const hold = await mutex.acquire();
    await answered('getData');
    expect(frames(() => true)).to.deep.equal([
      'create2',
      'getChildren2',
      'create2 answered',
      'getChildren2 answered',
      'getData',
      'getData answered',
    ]);
    await hold.release();
  });

  it('a release takes one delete', async () => {
    const mutex = await ready('release');
    const hold = await mutex.acquire();
    await answered('getData');
    lab.proxy.clear();
    await hold.release();
    expect(requests()).to.deep.equal(['delete']);
  });

  it('three missing parents take three round trips in all with a first container, which goes alone', async () => {
    const fresh = await LockClient.connect(lab.proxy.connectString);
    lab.proxy.clear();
    const hold = await new InterProcessMutex(fresh, `${testPath('a')}/b`).acquire();
    await answered('getData');
    expect(requests().slice(0, 7)).to.deep.equal([
      ...['create2', 'getChildren2'],
      'createContainer',
      ...['createContainer', 'createContainer', 'create2', 'getChildren2'],
    ]);
    const isContainer = (frame: Frame): boolean => frame.op === 'createContainer';
    const containers = lab.proxy.frames.filter(isContainer).map((frame) => frame.from);
    expect(containers).to.deep.equal(['client', 'server', 'client', 'client', 'server', 'server']);
    const last = lab.proxy.frames.findLastIndex((frame) => frame.from === 'client' && frame.op === 'getChildren2');
    expect(last, 'the list is sent before the last container is answered').to.be.lessThan(
      lab.proxy.frames.findLastIndex(isContainer),
    );
    await hold.release();
    await fresh.close();
  });

  it('a waiter sends two round trips until it is parked, and nothing but its delete after it was woken at index 1', async () => {
    const mutex = await ready('hand-over');
    const gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    const waiting = mutex.acquire();
    await answered('getData', 2);
    expect(requests()).to.deep.equal(['create2', 'getChildren2', 'getData', 'getData']);
    lab.proxy.clear();
    await gate.release();
    const hold = await waiting;
    expect(requests()).to.deep.equal([]);
    await hold.release();
    expect(requests()).to.deep.equal(['delete']);
  });

  it('a waiter whose predecessor is in this process plants no watch on it', async () => {
    const mutex = await ready('in-process');
    // So often that fewer transactions have happened between the next two creates: the second one needs no list.
    for (const _ of Array.from({ length: 30 })) await (await mutex.acquire()).release();
    lab.proxy.clear();
    const hold = await mutex.acquire();
    await answered('getData');
    lab.proxy.clear();
    const waiting = mutex.acquire();
    await answered('getData');
    expect(requests()).to.deep.equal(['create2', 'getData']);
    await hold.release();
    await (await waiting).release();
    expect(requests().filter((op) => op === 'getChildren2')).to.have.length(0);
  });

  it('a hundred acquires of one tick share one list, and hand over to each other without another', async () => {
    const mutex = await ready('one-list');
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const hold = await mutex.acquire();
        order.push(Number(hold.path.slice(-10)));
        await hold.release();
      }),
    );
    expect(order).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(requests().filter((op) => op === 'getChildren2')).to.have.length(1);
  });

  it('one deletion wakes one waiter of five in five sessions', async () => {
    const mutex = await ready('no-herd');
    const gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    const clients = await Promise.all(Array.from({ length: 5 }, () => LockClient.connect(lab.proxy.connectString)));
    lab.proxy.clear();
    const waiting = clients.map((one) => new InterProcessMutex(one, mutex.path).acquire());
    await answered('getData', 10);
    lab.proxy.clear();
    await gate.release();
    const first = await Promise.race(waiting);
    expect(lab.proxy.frames.filter((frame) => frame.op === 'watch')).to.have.length(1);
    expect(requests()).to.deep.equal([]);
    await first.release();
    await Promise.all(waiting.map((one) => one.then((hold) => hold.release())));
    await Promise.all(clients.map((one) => one.close()));
  });

  it('a waiter that gives up takes its watch from the server and deletes its znode', async () => {
    const mutex = await ready('gives-up');
    const gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    const controller = new AbortController();
    const waiting = rejection(mutex.acquire({ signal: controller.signal }));
    await answered('getData', 2);
    lab.proxy.clear();
    controller.abort();
    await waiting;
    await answered('delete');
    expect(requests().sort()).to.deep.equal(['delete', 'removeWatches']);
    await gate.release();
  });

  it('tryAcquire of a held lock takes one round trip and no write', async () => {
    const mutex = await ready('try');
    const gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    expect(await mutex.tryAcquire()).to.equal(undefined);
    const sent = lab.proxy.frames
      .filter((frame) => frame.path === mutex.path)
      .map((frame) => `${frame.from} ${frame.op}`);
    expect(sent).to.deep.equal(['client sync', 'client getChildren2', 'server sync', 'server getChildren2']);
    await gate.release();
  });

  it('re-entry sends nothing', async () => {
    const mutex = await ready('re-entry');
    await mutex.withLock(async () => {
      await answered('getData');
      lab.proxy.clear();
      await mutex.withLock(async () => (await mutex.acquire()).release());
      expect(requests()).to.deep.equal([]);
    });
  });
});
