import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { once } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection, until } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';

const weights = {};

describe('a weighted mutex on a broken connection:', () => {
  const lab = labOfEachTest('weights-wire', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  beforeEach(async () => (await new InterProcessMutex(lab.client, lab.path, { weights }).acquire()).release());

  /** A transaction that claims the lock names the client's own znode first. */
  const isClaim =
    (side: Frame['from']) =>
    (frame: Frame): boolean =>
      frame.from === side && frame.op === 'multi' && (frame.path ?? '').startsWith(`${lab.path}/`);

  for (const action of ['cut', 'cut-inside'] as const)
    it(`a claim with a lost reply (${action}) is found again, and gives its token`, async () => {
      const before = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
      await before.release();
      lab.proxy.clear();
      once(lab.proxy, isClaim('server'), action);
      const hold = await new InterProcessMutex(lab.client, lab.path, { weights }).acquire({ weight: 4 });
      expect(
        lab.proxy.frames.filter(({ from, op }) => from === 'client' && op === 'create2'),
        'number of creates',
      ).to.have.length(1);
      expect(hold.isValid).to.equal(true);
      expect(hold.fencingToken > before.fencingToken).to.equal(true);
      expect(await lab.observer.read(lab.path)).to.contain(hold.path.slice(lab.path.length + 1));
      // No other client could have claimed the lock since.
      expect(await new InterProcessMutex(lab.other, lab.path, { weights }).tryAcquire({ weight: 10 })).to.equal(
        undefined,
      );
      await hold.release();
      await using after = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
      expect(after.fencingToken > hold.fencingToken).to.equal(true);
    });

  it('a claim that never arrived is sent again', async () => {
    once(lab.proxy, isClaim('client'), 'cut');
    const hold = await new InterProcessMutex(lab.client, lab.path, { weights }).acquire();
    expect(hold.isValid).to.equal(true);
    await hold.release();
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('after a claim with a lost reply the client looks behind a quorum write', async () => {
    let cutAt = Infinity;
    once(lab.proxy, isClaim('server'), ({ connection }) => {
      cutAt = connection;
      return 'cut';
    });
    lab.proxy.clear();
    await using _hold = await new InterProcessMutex(lab.client, lab.path, { weights }).acquire();
    const sent = lab.proxy.frames
      .filter(({ from, connection, op }) => from === 'client' && connection > cutAt && op !== 'connect')
      .map(({ op }) => op);
    // One of the two is the heartbeat with which every new connection begins.
    expect(
      sent.slice(0, sent.indexOf('getData')).filter((op) => op === 'multi'),
      sent.join(),
    ).to.have.length(2);
  });

  it('a claim whose caller gave up leaves no znode, and the next client holds', async () => {
    const controller = new AbortController();
    lab.proxy.clear();
    once(lab.proxy, isClaim('server'), 'cut');
    const lost = lab.proxy.seen(isClaim('server'));
    const acquiring = rejection(
      new InterProcessMutex(lab.client, lab.path, { weights }).acquire({ signal: controller.signal }),
    );
    await lost;
    controller.abort(new Error('enough'));
    expect((await acquiring).message).to.equal('enough');
    const next = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
    await next.release();
    await lab.queueReaches(0);
  });

  it('a tryAcquire whose claim has no reply settles, and leaves no znode', async () => {
    once(lab.proxy, isClaim('server'), 'cut');
    const hold = await new InterProcessMutex(lab.client, lab.path, { weights }).tryAcquire();
    await hold?.release();
    await lab.queueReaches(0);
  });

  for (const op of ['getData', 'getChildren2', 'create2', 'watch'] as const)
    it(`a waiter that loses a reply (${op}) is granted in its turn`, async () => {
      const hold = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire({ weight: 5 });
      const mutex = new InterProcessMutex(lab.client, lab.path, { weights });
      lab.proxy.clear();
      once(lab.proxy, (frame) => frame.from === 'server' && frame.op === op, 'cut');
      const waiting = [9, 3, 3, 1].map((weight) =>
        mutex.acquire({ weight, timeoutMs: 15_000 }).then((held) => held.release()),
      );
      await lab.queueReaches(5);
      await hold.release();
      await Promise.all(waiting);
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

  it('a claim during a waiter’s outage wakes the waiter afterwards', async () => {
    const [theirs, ours] = [
      new InterProcessMutex(lab.other, lab.path, { weights }),
      new InterProcessMutex(lab.client, lab.path, { weights }),
    ];
    const first = await theirs.acquire({ weight: 5 });
    const second = theirs.acquire({ weight: 7 });
    await lab.queueReaches(2);
    const light = ours.acquire({ weight: 2, timeoutMs: 15_000 });
    await until('the light waiter watches the claim', () =>
      lab.client.session.watches.paths('data').includes(lab.path),
    );
    await lab.disconnect();
    await first.release();
    await (await second).release();
    await lab.proxy.accept();
    await (await light).release();
  });
});
