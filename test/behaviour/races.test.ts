import { expect } from 'chai';
import { InterProcessMutex, LockClient, type ConnectionState } from '../../src/index.ts';
import { systemClock } from '../../src/support/clock.ts';
import { from, once } from '../../lab/proxy/frame-matches.ts';
import { gate } from '../../lab/gate.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { proxiedTripMs } from '../../lab/world.ts';

const sessionTimeoutMs = 4_000;

describe('between a request and its reply', () => {
  const lab = labOfEachTest('races', { server: 'own', proxy: true, client: { sessionTimeoutMs } });

  it('a znode that is deleted while its session proves itself is not granted', async () => {
    await (await lab.mutex.acquire()).release();
    const created = gate();
    const proven = gate();
    once(lab.proxy, from('server', 'create2'), { delayUntil: created.opened });
    const acquiring = lab.mutex.acquire();
    await lab.queueReaches(1);
    const [name = ''] = await lab.observer.children(lab.path);
    await until(
      'the session must prove itself before a grant',
      () => lab.client.session.deadline - systemClock.now() < sessionTimeoutMs / 4,
    );
    lab.proxy.on((frame) =>
      frame.from === 'server' && frame.op === 'multi' ? { delayUntil: proven.opened } : undefined,
    );
    created.open();
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getChildren2', 2);
    await lab.observer.remove(`${lab.path}/${name}`);
    proven.open();
    await using hold = await acquiring;
    expect(hold.path).not.to.contain(name);
    expect(await lab.observer.exists(hold.path)).to.equal(true);
  });

  it('a znode that is released by force while its session proves itself is not granted', async () => {
    await (await lab.mutex.acquire()).release();
    const created = gate();
    once(lab.proxy, from('server', 'create2'), { delayUntil: created.opened });
    const acquiring = lab.mutex.acquire();
    await lab.queueReaches(1);
    const [name = ''] = await lab.observer.children(lab.path);
    await lab.observer.write(`${lab.path}/${name}`, '__FORCE__');
    await until(
      'the session must prove itself before a grant',
      () => lab.client.session.deadline - systemClock.now() < sessionTimeoutMs / 4,
    );
    // The proof is the first write on a new connection, which may overtake the answer that shows the mark.
    const read = gate();
    once(lab.proxy, from('client', 'connect'), { delayUntil: read.opened });
    lab.proxy.clear();
    created.open();
    await lab.proxy.seen(from('server', 'getData'));
    await lab.sleep(proxiedTripMs);
    read.open();
    await using hold = await acquiring;
    expect(hold.path).not.to.contain(name);
    await until(
      'the znode that was released by force is deleted',
      async () => !(await lab.observer.exists(`${lab.path}/${name}`)),
    );
  });

  it('a znode that is deleted during the search by its uuid is created again', async () => {
    await (await lab.mutex.acquire()).release();
    once(lab.proxy, from('server', 'create2'), 'cut');
    const searched = gate();
    once(lab.proxy, from('client', 'exists'), { delayUntil: searched.opened });
    const acquiring = lab.mutex.acquire();
    await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'exists');
    const [name = ''] = await lab.observer.children(lab.path);
    await lab.observer.remove(`${lab.path}/${name}`);
    searched.open();
    await using hold = await acquiring;
    expect(await lab.observer.exists(hold.path)).to.equal(true);
  });

  it('a parent that is deleted between the creation of two parents is created again', async () => {
    const path = testPath('parent-goes');
    const parent = path.slice(0, path.lastIndexOf('/'));
    await (await new InterProcessMutex(lab.client, testPath('first-container')).acquire()).release();
    await lab.observer.create(parent);
    const gone = gate();
    lab.proxy.on((frame) =>
      frame.from === 'client' && frame.op === 'createContainer' && frame.path === path
        ? { delayUntil: gone.opened }
        : undefined,
    );
    const acquiring = new InterProcessMutex(lab.client, path).acquire();
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'createContainer' && frame.path === parent);
    await lab.observer.remove(parent);
    gone.open();
    await (await acquiring).release();
  });

  it('a reply that says that the session has expired ends the connection, and proves nothing', async () => {
    await using hold = await new InterProcessMutex(lab.client, testPath('expired-answers')).acquire();
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op !== 'connect' ? { replaceError: -112 } : undefined));
    await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'connect', 2);
    expect(hold.signal.aborted, 'the client asks the next server before the deadline').to.equal(false);
    const reason = (await aborted(hold.signal)) as { reason: string };
    expect(reason.reason).to.equal('session-deadline');
    expect(hold.isValid).to.equal(false);
  });

  it('one heartbeat that is answered with an error does not stop the heartbeats', async () => {
    await using hold = await new InterProcessMutex(lab.client, testPath('heartbeat-error')).acquire();
    once(lab.proxy, from('server', 'multi'), { replaceError: -125 });
    lab.proxy.clear();
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'multi', 3);
    expect(hold.isValid).to.equal(true);
    expect(lab.client.state).to.equal('connected');
  });

  it('a release that the server refuses settles at the deadline', async () => {
    const parent = lab.path.slice(0, lab.path.lastIndexOf('/'));
    await lab.observer.create(parent);
    // Read, write, create and admin, but not delete.
    await lab.observer.create(lab.path, [{ permissions: 23, scheme: 'world', id: 'anyone' }]);
    const warnings: string[] = [];
    const own = await LockClient.connect(lab.proxy.connectString, {
      sessionTimeoutMs,
      logger: { warn: (_details, message) => void warnings.push(message) },
    });
    expect(await new InterProcessMutex(own, lab.path).withLock(() => 'done')).to.equal('done');
    expect(warnings.join('\n')).to.contain(lab.path).and.to.contain('could not be deleted');
    await own.close();
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('a close whose request is lost is sent again', async () => {
    const hold = await lab.mutex.acquire();
    // Waits for the reply to the watch: if it came later, in place of the reply to the close, it would end the
    // connection.
    await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getData' && frame.path === hold.path);
    once(lab.proxy, from('client', 'closeSession'), 'drop');
    await lab.client.close({ timeoutMs: 10_000 });
    expect(lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'closeSession')).to.have.length(
      2,
    );
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('refused credentials reject the first connection, and open no second session', async () => {
    lab.proxy.clear();
    const error = await rejection(
      LockClient.connect(lab.proxy.connectString, { auth: [{ scheme: 'no-such-scheme', credentials: 'user:secret' }] }),
    );
    expect(error.code).to.equal('ERR_LOCK_AUTH_FAILED');
    expect(error.message).not.to.contain('secret');
    expect(lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'connect')).to.have.length(1);
  });

  it('every listener gets the states in the same order, even if one state causes the next', async () => {
    await using hold = await new InterProcessMutex(lab.client, testPath('state-order')).acquire();
    const received: [ConnectionState[], ConnectionState[]] = [[], []];
    lab.client.on('state', (state) => {
      received[0].push(state);
      if (state !== 'suspended') return;
      lab.stall(sessionTimeoutMs);
      expect(hold.isValid).to.equal(false);
    });
    lab.client.on('state', (state) => void received[1].push(state));
    const again = new Promise<void>((resolve) =>
      lab.client.on('state', (state) => state === 'reconnected' && resolve()),
    );
    lab.proxy.cut();
    await again;
    expect(received[0].slice(0, 2)).to.deep.equal(['suspended', 'lost']);
    expect(received[1]).to.deep.equal(received[0]);
  });

  it("tryAcquire with foreignNodes: 'wait' gets a lock that acquire would get at once", async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path, { foreignNodes: 'wait' });
    const first = await mutex.acquire();
    await lab.observer.create(`${lab.path}/zzz`);
    await first.release();
    const hold = await mutex.tryAcquire();
    expect(hold?.isValid).to.equal(true);
    expect(await mutex.tryAcquire()).to.equal(undefined);
    await hold?.release();
    await lab.observer.remove(`${lab.path}/zzz`);
  });
});
