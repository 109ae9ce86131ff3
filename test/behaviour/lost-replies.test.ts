import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { from, once } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection, until } from '../../lab/until.ts';

describe('a lost reply', () => {
  const lab = labOfEachTest('lost-replies', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  for (const action of ['cut', 'cut-inside'] as const)
    it(`of a create (${action}): the znode is found by its uuid, and is granted the lock`, async () => {
      await (await lab.mutex.acquire()).release();
      once(lab.proxy, from('server', 'create2'), action);
      const hold = await lab.mutex.acquire();
      expect(hold.isValid).to.equal(true);
      expect(hold.path.slice(-10)).to.equal('0000000001');
      expect((await lab.observer.children(lab.path)).map((name) => `${lab.path}/${name}`)).to.deep.equal([hold.path]);
      await hold.release();
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

  it('of a create that was never executed: the client creates the znode again, once', async () => {
    await (await lab.mutex.acquire()).release();
    once(lab.proxy, from('client', 'create2'), 'cut');
    await using hold = await lab.mutex.acquire();
    expect((await lab.observer.children(lab.path)).map((name) => `${lab.path}/${name}`)).to.deep.equal([hold.path]);
  });

  it('of a create whose caller has given up: the client searches the znode and deletes it', async () => {
    await (await lab.mutex.acquire()).release();
    const controller = new AbortController();
    lab.proxy.clear();
    once(lab.proxy, from('server', 'create2'), 'cut');
    const cut = lab.proxy.seen(from('server', 'create2'));
    const acquiring = rejection(lab.mutex.acquire({ signal: controller.signal }));
    await cut;
    controller.abort(new Error('enough'));
    expect((await acquiring).message).to.equal('enough');
    await until(
      'the znode is gone',
      async () =>
        lab.proxy.frames.some(from('client', 'delete')) && (await lab.observer.children(lab.path)).length === 0,
    );
  });

  for (const action of ['cut', 'cut-inside'] as const)
    it(`of a list (${action}): the client lists again, and the waiter keeps its place`, async () => {
      await (await lab.mutex.acquire()).release();
      once(lab.proxy, from('server', 'getChildren2'), action);
      const hold = await lab.mutex.acquire();
      expect(hold.path.slice(-10)).to.equal('0000000001');
      await hold.release();
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

  it('of a delete: it is repeated until the znode is gone', async () => {
    const hold = await lab.mutex.acquire();
    once(lab.proxy, from('client', 'delete'), 'cut');
    expect(await hold.release()).to.equal('released');
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    expect(lab.proxy.frames.filter(from('client', 'delete')).length).to.be.greaterThan(1);
  });

  it('of a delete that was executed: NoNode counts as success', async () => {
    const hold = await lab.mutex.acquire();
    once(lab.proxy, from('server', 'delete'), 'cut');
    expect(await hold.release()).to.equal('released');
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  for (const op of ['getData', 'watch'] as const)
    it(`of a waiter (${op}): the waiter wakes up when the lock becomes free`, async () => {
      await using other = await LockClient.connect(lab.server.connectString);
      const hold = await new InterProcessMutex(other, lab.path).acquire();
      once(lab.proxy, (frame) => frame.from === 'server' && frame.op === op && frame.path === hold.path, 'cut');
      const waiting = lab.mutex.acquire({ timeoutMs: 10_000 });
      await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path);
      await hold.release();
      await using next = await waiting;
      expect(next.path.slice(-10)).to.equal('0000000001');
    });

  it('to a waiter: it keeps its place across a cut connection, and reads its own znode again instead of a list', async () => {
    await using other = await LockClient.connect(lab.server.connectString);
    const hold = await new InterProcessMutex(other, lab.path).acquire();
    const waiting = lab.mutex.acquire({ timeoutMs: 10_000 });
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path);
    // The client has read it, too.
    await lab.requests();
    const reconnected = new Promise((resolve) =>
      lab.client.on('state', (state) => state === 'reconnected' && resolve(state)),
    );
    lab.proxy.cut();
    await reconnected;
    const [, own = ''] = (await new InterProcessMutex(other, lab.path).participants()).map((one) => one.path);
    const readings = (frame: Frame): boolean => from('server', 'getData')(frame) && frame.path === own;
    await lab.proxy.seen(readings, 2);
    await new InterProcessMutex(lab.client, '/elsewhere').participants();
    lab.proxy.clear();
    await hold.release();
    await (await waiting).release();
    expect(lab.proxy.frames.filter(from('client', 'getChildren2'))).to.have.length(0);
  });

  it('replaced by an unknown error rejects the acquire, and a created znode is searched and deleted', async () => {
    await (await lab.mutex.acquire()).release();
    let isDone = false;
    lab.proxy.on((frame) => {
      if (isDone || !from('server', 'create2')(frame)) return undefined;
      isDone = true;
      return { replaceError: -999 };
    });
    const error = await rejection(lab.mutex.acquire());
    expect(error.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain('-999');
    await lab.queueReaches(0);
  });
});
