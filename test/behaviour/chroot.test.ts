import { expect } from 'chai';
import { InterProcessMutex, type BackgroundEvent, type LockClient, type LockLostError } from '../../src/index.ts';
import { answered, once, sent } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { aborted, rejection } from '../../lab/until.ts';

describe('a client with a chroot', () => {
  const lab = labOfEachTest('chroot', { server: 'own', proxy: true });
  const below = '/locks/orders';
  let chrooted: LockClient;
  let mutex: InterProcessMutex;
  /** The same lock, used by a client without a chroot. */
  let sameLock: InterProcessMutex;

  beforeEach(async () => {
    chrooted = await lab.connect({ sessionTimeoutMs: 4_000 }, `${lab.proxy.connectString}${lab.path}`);
    mutex = new InterProcessMutex(chrooted, below);
    sameLock = new InterProcessMutex(lab.other, `${lab.path}${below}`);
  });

  it('that does not exist yet sends its heartbeats to /, and can create locks in it later', async () => {
    const states: string[] = [];
    chrooted.on('state', (state) => states.push(state));
    lab.proxy.clear();
    const stop = chrooted.session.keepProven();
    await lab.proxy.seen(answered('sync'), 3);
    stop();
    expect(new Set(lab.proxy.frames.filter(sent('multi')).map(({ path }) => path))).to.deep.equal(new Set(['/']));
    expect(new Set(lab.proxy.frames.filter(sent('sync')).map(({ path }) => path))).to.deep.equal(new Set(['/']));
    expect(states).to.deep.equal([]);
    expect(await lab.observer.exists(lab.path)).to.equal(false);
    await mutex.withLock(async (hold) => expect(await lab.observer.exists(`${lab.path}${hold.path}`)).to.equal(true));
  });

  it('shows paths below the chroot, and finds its own participants by them', async () => {
    await using hold = await sameLock.acquire();
    const waiting = mutex.acquire();
    await lab.proxy.seen(answered('getData'));
    const participants = await mutex.participants();
    expect(participants.map(({ path }) => path.slice(0, path.lastIndexOf('/')))).to.deep.equal([below, below]);
    expect(hold.path).to.equal(`${lab.path}${participants[0]?.path}`);
    await hold.release();
    await using own = await waiting;
    expect(own.path).to.equal(participants[1]?.path);
    expect(own.isValid).to.equal(true);
  });

  it('gets the deletion of a predecessor after a reconnect', async () => {
    const hold = await sameLock.acquire();
    const waiting = mutex.acquire();
    await lab.proxy.seen(answered('getData'));
    await lab.disconnect();
    await hold.release();
    await lab.proxy.accept();
    expect((await waiting).isValid).to.equal(true);
    // Without the event, a question to the quorum would have told the deletion after a session timeout.
    expect(lab.proxy.frames.filter(sent('exists'))).to.deep.equal([]);
  });

  it('watches an existing predecessor again after a reconnect', async () => {
    const hold = await sameLock.acquire();
    const waiting = mutex.acquire();
    await lab.proxy.seen(answered('getData'));
    lab.proxy.clear();
    lab.proxy.cut();
    await lab.proxy.seen(answered('setWatches'));
    expect(lab.proxy.frames.filter(({ op }) => op === 'watch')).to.deep.equal([]);
    await hold.release();
    expect((await waiting).isValid).to.equal(true);
    expect(lab.proxy.frames.filter(sent('exists'))).to.deep.equal([]);
  });

  it('removes its watch from the server when a wait ends', async () => {
    await using _ = await sameLock.acquire();
    const controller = new AbortController();
    const waiting = rejection(mutex.acquire({ signal: controller.signal }));
    await lab.proxy.seen(answered('getData'));
    controller.abort();
    await waiting;
    expect((await lab.proxy.seen(answered('removeWatches'))).err).to.equal(0);
  });

  it('gets the deletion of its own znode, with the path that the application knows', async () => {
    const hold = await mutex.acquire();
    await lab.proxy.seen(answered('getData'));
    await lab.observer.remove(`${lab.path}${hold.path}`);
    const { reason, path } = (await aborted(hold.signal)) as LockLostError;
    expect({ reason, path }).to.deep.equal({ reason: 'node-deleted', path: hold.path });
  });

  it('finds the znode that it created, and reports its full path in the background event', async () => {
    const events: BackgroundEvent[] = [];
    chrooted.on('background', (event) => events.push(event));
    await (await mutex.acquire()).release();
    once(lab.proxy, answered('create2'), 'cut');
    const hold = await mutex.acquire();
    expect(await lab.observer.children(`${lab.path}${below}`)).to.deep.equal([hold.path.slice(below.length + 1)]);
    const searched = events.find(({ type }) => type === 'create-searched');
    expect(searched).to.deep.include({ found: true, path: `${lab.path}${hold.path.slice(0, -10)}` });
  });
});
