import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { exists } from '../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';
import { answered as fromServer, once } from '../../lab/proxy/frame-matches.ts';
import { type Frame } from '../../lab/proxy/zk-proxy.ts';

/** The requests that the session sends by itself to stay alive. */
const heartbeats = new Set(['multi', 'sync', 'ping', 'connect']);

describe('the requests of a client', () => {
  const lab = labOfEachTest('requests', { server: 'own', proxy: true });

  beforeEach(async () => {
    // The first container of a client is sent alone; the counts of these tests begin after it.
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

  it('for an uncontended acquire take one round trip: create2 and the list in one flush', async () => {
    const mutex = await ready('uncontended');
    await using _hold = await mutex.acquire();
    await answered('getData');
    expect(frames(() => true)).to.deep.equal([
      'create2',
      'getChildren2',
      'create2 answered',
      'getChildren2 answered',
      'getData',
      'getData answered',
    ]);
  });

  it('for a release are one delete', async () => {
    const mutex = await ready('release');
    const hold = await mutex.acquire();
    await answered('getData');
    lab.proxy.clear();
    await hold.release();
    expect(requests()).to.deep.equal(['delete']);
  });

  it('for a release right after its grant are one delete, also if its answer takes long', async () => {
    const mutex = await ready('right-after');
    const hold = await mutex.acquire();
    lab.proxy.clear();
    // A hold watches its znode ten milliseconds after its grant.
    once(lab.proxy, fromServer('delete'), { delayUntil: lab.sleep(100) });
    await hold.release();
    expect(requests()).to.deep.equal(['delete']);
  });

  it('for three missing parents take three round trips, the first container alone', async () => {
    await using fresh = await LockClient.connect(lab.proxy.connectString);
    lab.proxy.clear();
    await using _hold = await new InterProcessMutex(fresh, `${testPath('a')}/b`).acquire();
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
    expect(last, 'the list is sent before the reply to the last container').to.be.lessThan(
      lab.proxy.frames.findLastIndex(isContainer),
    );
  });

  it('for a missing znode below parents that exist send the first container alone only once', async () => {
    const path = testPath('existing');
    await using _other = await new InterProcessMutex(lab.other, `${path}/a`).acquire();
    await using fresh = await LockClient.connect(lab.proxy.connectString);
    const containers: Frame['from'][][] = [];
    for (const name of ['b', 'c']) {
      lab.proxy.clear();
      await using _hold = await new InterProcessMutex(fresh, `${path}/${name}`).acquire();
      containers.push(lab.proxy.frames.filter(({ op }) => op === 'createContainer').map(({ from }) => from));
    }
    expect(containers).to.deep.equal([
      ['client', 'server', 'client', 'client', 'server', 'server'],
      ['client', 'client', 'client', 'server', 'server', 'server'],
    ]);
  });

  it('of a waiter take two round trips until it waits, and at index 1 only its delete afterwards', async () => {
    const mutex = await ready('hand-over');
    const gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    const waiting = mutex.acquire();
    await answered('getData', 2);
    expect(requests()).to.deep.equal(['create2', 'getChildren2', 'getData', 'getData']);
    // The proxy has seen the answers, and the client may not have read them yet. An event in the same chunk costs a list.
    await lab.client.session.find(exists('/'));
    lab.proxy.clear();
    await gate.release();
    const hold = await waiting;
    expect(requests()).to.deep.equal([]);
    await hold.release();
    expect(requests()).to.deep.equal(['delete']);
  });

  it('of a waiter whose predecessor is in this process contain no watch on the predecessor', async () => {
    const mutex = await ready('in-process');
    // Enough cycles that fewer transactions happen between the next two creates: the second create needs no list.
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

  it('for a hundred acquires in one tick contain one list, and no list for their hand-overs', async () => {
    const mutex = await ready('one-list');
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        await using hold = await mutex.acquire();
        order.push(Number(hold.path.slice(-10)));
      }),
    );
    expect(order).to.deep.equal(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(requests().filter((op) => op === 'getChildren2')).to.have.length(1);
  });

  it('contain a second list only once for a name that two lists have shown', async () => {
    const mutex = await ready('doubtful');
    await lab.observer.create(`${mutex.path}/_c_00000000-0000-4000-8000-000000000000-lock-0000000099`);
    const lists: number[] = [];
    for (const _ of [1, 2]) {
      lab.proxy.clear();
      await (await mutex.acquire()).release();
      lists.push(requests().filter((op) => op === 'getChildren2').length);
    }
    expect(lists).to.deep.equal([2, 1]);
  });

  it('after one deletion are none: two of five waiters in five sessions get an event', async () => {
    const mutex = await ready('no-herd');
    const gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    const clients = await Promise.all(Array.from({ length: 5 }, () => LockClient.connect(lab.proxy.connectString)));
    lab.proxy.clear();
    const waiting = clients.map((one) => new InterProcessMutex(one, mutex.path).acquire());
    // Each waiter watches its own znode, the last three only after a second. The first one also watches the holder's, the
    // others two more.
    await answered('getData', 14);
    lab.proxy.clear();
    await gate.release();
    const first = await Promise.race(waiting);
    await answered('watch', 2);
    // One connection answers in order: no waiter has sent anything since the event.
    for (const one of clients) await one.session.request(exists('/'));
    expect(lab.proxy.frames.filter((frame) => frame.op === 'watch')).to.have.length(2);
    expect(requests()).to.deep.equal(clients.map(() => 'exists'));
    await first.release();
    await Promise.all(waiting.map((one) => one.then((hold) => hold.release())));
    await Promise.all(clients.map((one) => one.close()));
  });

  it('of a waiter that gives up remove its watch and delete its znode', async () => {
    const mutex = await ready('gives-up');
    await using _gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    const controller = new AbortController();
    const waiting = rejection(mutex.acquire({ signal: controller.signal }));
    await answered('getData', 2);
    lab.proxy.clear();
    controller.abort();
    await waiting;
    await answered('delete');
    expect(requests().sort()).to.deep.equal(['delete', 'removeWatches']);
  });

  it('of a tryAcquire of a held lock take one round trip and no write', async () => {
    const mutex = await ready('try');
    await using _gate = await new InterProcessMutex(lab.other, mutex.path).acquire();
    expect(await mutex.tryAcquire()).to.equal(undefined);
    const sent = lab.proxy.frames
      .filter((frame) => frame.path === mutex.path)
      .map((frame) => `${frame.from} ${frame.op}`);
    expect(sent).to.deep.equal(['client sync', 'client getChildren2', 'server sync', 'server getChildren2']);
  });

  it('of a re-entry are none', async () => {
    const mutex = await ready('re-entry');
    await mutex.withLock(async () => {
      await answered('getData');
      lab.proxy.clear();
      await mutex.withLock(async () => (await mutex.acquire()).release());
      expect(requests()).to.deep.equal([]);
    });
  });
});
