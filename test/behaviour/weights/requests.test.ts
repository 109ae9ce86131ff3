import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { until } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';

const weights = {};

describe('the requests of a weighted mutex', () => {
  const lab = labOfEachTest('weights-requests', { server: 'own', proxy: true });
  let mutex: InterProcessMutex;

  beforeEach(async () => {
    mutex = new InterProcessMutex(lab.client, lab.path, { weights });
    await (await mutex.acquire()).release();
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'delete' && isOfLock(frame));
    lab.proxy.clear();
  });

  const isOfLock = (frame: Frame): boolean => (frame.path ?? '').startsWith(lab.path);
  const ofLock = (): string[] =>
    lab.proxy.frames.filter(isOfLock).map(({ from, op }) => (from === 'client' ? op : `${op} answered`));
  const requests = (): string[] => ofLock().filter((op) => !op.endsWith('answered'));

  it('for a free lock: create, data and list in one flush; then the claim', async () => {
    const hold = await mutex.acquire();
    const read = ['create2', 'getData', 'getChildren2'];
    expect(ofLock().slice(0, 8)).to.deep.equal([
      ...read,
      ...read.map((op) => `${op} answered`),
      'multi',
      'multi answered',
    ]);
    await lab.proxy.seen((frame) => frame.op === 'getData' && frame.path === hold.path);
    lab.proxy.clear();
    await hold.release();
    expect(requests()).to.deep.equal(['delete']);
  });

  it('for a re-entry: none', async () => {
    await mutex.withLock(async () => {
      await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getData', 2);
      lab.proxy.clear();
      await (await mutex.acquire({ weight: 10 })).release();
      expect(requests()).to.deep.equal([]);
    });
  });

  it('for the next waiter: one list and one claim, and none of the waiter behind it', async () => {
    const hold = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
    const waiting = [mutex.acquire({ weight: 3 }), mutex.acquire({ weight: 3 }), mutex.acquire({ weight: 3 })];
    await lab.queueReaches(4);
    await until('the first waiter watches the holder', () =>
      lab.client.session.watches.paths('data').includes(hold.path),
    );
    const before = lab.proxy.frames.length;
    await hold.release();
    const first = await waiting[0];
    // Each waiter also sets a watch on its own znode at some time.
    const sent = lab.proxy.frames
      .slice(before)
      .filter(
        (frame) => frame.from === 'client' && (frame.path === lab.path || (frame.op === 'multi' && isOfLock(frame))),
      )
      .map(({ op }) => op);
    expect(sent).to.deep.equal(['getData', 'getChildren2', 'multi']);
    await first?.release();
    for (const next of waiting.slice(1)) await (await next).release();
    // A waiter behind another waiter of this process waits in memory.
    for (const one of await Promise.all(waiting)) {
      expect(
        lab.proxy.frames.filter(
          (frame) => frame.from === 'client' && frame.op === 'getData' && frame.path === one.path,
        ),
      ).to.have.length.at.most(1);
    }
  });

  it('for many acquires in one tick: one list for all', async () => {
    const holds = Array.from({ length: 20 }, (_, index) =>
      mutex.acquire({ weight: (index % 10) + 1 }).then((hold) => hold.release()),
    );
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getChildren2' && isOfLock(frame));
    const sent = lab.proxy.frames.filter((frame) => frame.from === 'client' && isOfLock(frame)).map(({ op }) => op);
    expect(sent.slice(0, 22)).to.deep.equal([...Array<string>(20).fill('create2'), 'getData', 'getChildren2']);
    await Promise.all(holds);
  });

  it('for a change of the holder: one list per process', async () => {
    const hold = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
    const heavy = new InterProcessMutex(lab.other, lab.path, { weights }).acquire({ weight: 10 });
    await lab.queueReaches(2);
    const waiting = [2, 4, 6, 6, 4, 2].map((weight) => mutex.acquire({ weight }));
    await lab.queueReaches(8);
    await until('the first waiter of each weight watches the claim', () =>
      lab.client.session.watches.paths('data').includes(lab.path),
    );
    lab.proxy.clear();
    await hold.release();
    await heavy;
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getChildren2' && isOfLock(frame));
    const looks = requests().filter((op) => op === 'getChildren2');
    expect(looks).to.have.length(1);
    await (await heavy).release();
    await Promise.all(waiting.map((one) => one.then((held) => held.release())));
  });

  it('for a change of the holder with ten weights in ten clients: at most 50', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => LockClient.connect(lab.proxy.connectString)));
    const hold = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
    const waiting = clients.flatMap((one, index) =>
      Array.from({ length: 4 }, () => new InterProcessMutex(one, lab.path, { weights }).acquire({ weight: index + 1 })),
    );
    await lab.queueReaches(41);
    await until('the waiters of all clients watch', () =>
      clients.every((one) => one.session.watches.paths('data').some((watched) => watched.startsWith(lab.path))),
    );
    lab.proxy.clear();
    await hold.release();
    await Promise.all(waiting.map((one) => one.then((held) => held.release())));
    const sent = lab.proxy.frames.filter((frame) => frame.from === 'client' && isOfLock(frame)).length;
    expect(sent / waiting.length, `${sent} requests`).to.be.at.most(50);
    await Promise.all(clients.map((one) => one.close()));
  });
});
