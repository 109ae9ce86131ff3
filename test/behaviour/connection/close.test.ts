import { expect } from 'chai';
import { once } from 'node:events';
import {
  ConnectionTimeoutError,
  InterProcessMutex,
  InterProcessReadWriteLock,
  LockClient,
} from '../../../src/index.ts';
import { from } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { rejection, until } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { connectInOrder } from '../../../lab/lock-clients.ts';

describe('close()', () => {
  const lab = labOfEachTest('close', { server: 'own', proxy: true, client: 'none' });
  let client: LockClient;
  /** A znode that is deleted when the client's session ends. */
  let path: string;
  let sessionId: bigint;

  beforeEach(async () => {
    // Longer than a test: a session that is gone was closed and did not expire.
    client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 30_000 });
    sessionId = client.session.id;
    const hold = await new InterProcessMutex(client, lab.path).acquire();
    path = hold.path;
  });
  afterEach(() => client.close({ timeoutMs: 0 }));

  const isOnServer = async (): Promise<{ session: boolean; znode: boolean }> => ({
    // Asks without the list of connections, because the server may still be closing ours.
    session: await isAlive(sessionId),
    znode: await lab.observer.exists(path),
  });
  /**
   * True while the session tracker or the tree names the session: the list of connections may name it longer.
   * The tracker alone is not enough, because a session that it moves to a later expiry meanwhile is on no line.
   */
  const isAlive = async (id: bigint): Promise<boolean> => {
    const lines = (await lab.server.command('dump')).split('\n').map((line) => line.trim());
    const name = `0x${id.toString(16)}`;
    return lines.includes(name) || lines.includes(`${name}:`);
  };
  const gone = { session: false, znode: false };
  /** Longer than a test: a close that resolves got its reply and did not time out. */
  const longTimeout = { timeoutMs: 25_000 };

  it('has ended the session on the server and deleted its znodes when it resolves', async () => {
    expect(await isOnServer()).to.deep.equal({ session: true, znode: true });
    await client.close(longTimeout);
    expect(await isOnServer()).to.deep.equal(gone);
    expect(client.state).to.equal('closed');
  });

  it('waits for a connection if there is none, and ends the session there', async () => {
    await lab.disconnect(client);
    const closing = client.close(longTimeout);
    expect(await isOnServer()).to.deep.equal({ session: true, znode: true });
    await lab.proxy.accept();
    await closing;
    expect(await isOnServer()).to.deep.equal(gone);
  });

  it('settles at once a release that no server answers, before the session has ended', async () => {
    const hold = await new InterProcessMutex(client, `${lab.path}-released`).acquire();
    lab.proxy.silence();
    const releasing = hold.release();
    const startedAt = lab.now();
    const closing = client.close({ timeoutMs: 5_000 });
    expect(await releasing).to.equal('released');
    expect(lab.now() - startedAt).to.be.below(100);
    lab.proxy.speak();
    await closing;
  });

  it('in a listener of the lost connection ends the session on the next connection', async () => {
    const closing = new Promise<void>((resolve) =>
      client.once('state', () => void client.close(longTimeout).then(resolve)),
    );
    lab.proxy.cut();
    await closing;
    expect(await isOnServer()).to.deep.equal(gone);
  });

  it('in a listener of the end of its session opens no other session', async () => {
    const closing = new Promise<void>((resolve) =>
      client.on('state', (state) => state === 'lost' && void client.close().then(resolve)),
    );
    await lab.endSession(client);
    await closing;
    const { dials } = lab.proxy;
    await lab.sleep(100);
    expect([lab.proxy.dials, client.session.isEnded]).to.deep.equal([dials, true]);
  });

  for (const [what, action] of [
    ['it is lost', 'cut'],
    ['a server cannot carry it out', { refuse: -1 }],
  ] as const)
    it(`sends its request again on the next connection if ${what}`, async () => {
      const remove = lab.proxy.on((frame) => {
        if (!from('client', 'closeSession')(frame)) return undefined;
        remove();
        return action;
      });
      await client.close(longTimeout);
      expect(lab.proxy.frames.filter(from('client', 'closeSession'))).to.have.length(2);
      expect(await isOnServer()).to.deep.equal(gone);
    });

  for (const action of ['cut', 'cut-inside'] as const)
    it(`resolves after a lost reply (${action}) when the next connection knows no such session`, async () => {
      lab.proxy.on((frame) => (from('server', 'closeSession')(frame) ? action : undefined));
      await client.close(longTimeout);
      expect(lab.proxy.frames.filter(from('client', 'connect'))).to.have.length(2);
      expect(await isOnServer()).to.deep.equal(gone);
    });

  it('does not wait for a half-open connection: it asks the next server', async () => {
    await client.close();
    client = await connectInOrder([lab.proxy, lab.server], { sessionTimeoutMs: 2_000 });
    const { id } = client.session;
    await new InterProcessMutex(client, lab.path).acquire();
    lab.proxy.silence();
    const startedAt = lab.now();
    await client.close(longTimeout);
    expect(lab.now() - startedAt).to.be.closeTo(2_000 / 4, 10);
    expect(await isAlive(id)).to.equal(false);
  });

  for (const [state, kill] of Object.entries({
    'fell silent': () => lab.proxy.silence(),
    'is gone': async () => {
      await lab.proxy.refuse();
      lab.proxy.cut();
    },
    'accepts and never answers': () => {
      lab.proxy.silence();
      lab.proxy.cut();
    },
  }))
    it(`resolves after its timeout if the server ${state}`, async () => {
      await kill();
      const startedAt = lab.now();
      await client.close({ timeoutMs: 200 });
      expect(lab.now() - startedAt).to.be.closeTo(200, 0.01);
      expect(client.state).to.equal('closed');
    });

  const disconnect = async (): Promise<void> => {
    await lab.disconnect(client);
  };
  const nextDialFails = (): Promise<void> => {
    const before = client.session.connection.lastError;
    return until('another dial has failed', () => client.session.connection.lastError !== before);
  };

  describe('of a disconnected client', () => {
    const closesAtOnce = async (): Promise<void> => {
      const startedAt = lab.now();
      await client.close(longTimeout);
      expect(lab.now()).to.equal(startedAt);
      expect(client.state).to.equal('closed');
    };
    let mutex: InterProcessMutex;

    beforeEach(async () => {
      await client.close();
      client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 30_000 });
      mutex = new InterProcessMutex(client, lab.path);
    });

    it('resolves at once without a znode', async () => {
      await disconnect();
      await closesAtOnce();
    });

    it('resolves at once if the client has held, waited and downgraded before', async () => {
      const hold = await mutex.acquire();
      await rejection(mutex.acquire({ timeoutMs: 20 }));
      await hold.release();
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, `${lab.path}-rw`);
      await writeLock.withLock(() => readLock.withLock(() => undefined));
      await until(
        'all its znodes are gone',
        async () =>
          (await lab.observer.children(lab.path)).length + (await lab.observer.children(`${lab.path}-rw`)).length === 0,
      );
      await disconnect();
      await closesAtOnce();
    });

    it('resolves at once if a create was refused', async () => {
      const stop = lab.proxy.on((frame) => (from('server', 'create2')(frame) ? { replaceError: -102 } : undefined));
      expect(await rejection(mutex.acquire())).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
      stop();
      await disconnect();
      await closesAtOnce();
    });

    it('resolves at once if the connection is lost while it closes', async () => {
      lab.proxy.on((frame) => (from('client', 'closeSession')(frame) ? 'hold' : undefined));
      const closing = client.close(longTimeout);
      await lab.proxy.seen(from('client', 'closeSession'));
      await disconnectWhileClosing();
      const cutAt = lab.now();
      await closing;
      expect(lab.now() - cutAt).to.be.closeTo(0, 10);
    });

    const disconnectWhileClosing = async (): Promise<void> => {
      await lab.proxy.refuse();
      lab.proxy.cut();
    };

    for (const [state, act] of Object.entries<() => Promise<void>>({
      'waits for a lock': async () => {
        void rejection(new InterProcessMutex(client, lab.path).acquire());
        await lab.queueReaches(2);
        await disconnect();
      },
      'has sent a create without a reply': async () => {
        lab.proxy.clear();
        // All replies are dropped: if only one were missing, the next reply would show it.
        const hear = lab.proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
        void rejection(new InterProcessMutex(client, lab.path).acquire());
        await lab.proxy.seen(from('server', 'create2'));
        await disconnect();
        hear();
      },
    }))
      it(`that ${state} waits for a connection because of its znode`, async () => {
        await using holder = await LockClient.connect(lab.connectString);
        const hold = await new InterProcessMutex(holder, lab.path).acquire();
        await act();
        const closing = client.close(longTimeout);
        await nextDialFails();
        await lab.proxy.accept();
        await closing;
        expect(await lab.observer.children(lab.path)).to.deep.equal([hold.path.slice(lab.path.length + 1)]);
      });

    for (const [when, act] of Object.entries<() => void>({
      'before the call': () => {
        void mutex.release();
        void client.close(longTimeout);
      },
      'after the call': () => {
        void client.close(longTimeout);
        void mutex.release();
      },
    }))
      it(`waits for a connection if the lock is released in the outage, ${when}`, async () => {
        await mutex.acquire();
        await disconnect();
        act();
        await nextDialFails();
        await lab.proxy.accept();
        await client.close();
        expect(await lab.observer.children(lab.path)).to.deep.equal([]);
      });
  });

  it('resolves at once after the session expired and while no server answers for a new one', async () => {
    const isNew = (frame: Frame): boolean => from('client', 'connect')(frame) && frame.body.readBigInt64BE(16) === 0n;
    lab.proxy.clear();
    lab.proxy.on((frame) => (isNew(frame) ? 'hold' : undefined));
    const isLost = new Promise<void>((resolve) => client.on('state', (state) => state === 'lost' && resolve()));
    await lab.observer.endSession(client);
    await isLost;
    await lab.proxy.seen(isNew);
    await client.close(longTimeout);
  });

  it('returns one promise, however often it is called', async () => {
    const closing = client.close();
    expect(client.close({ timeoutMs: 0 })).to.equal(closing);
    await closing;
    expect(client.close()).to.equal(closing);
  });
});

describe('a connect() that is given up closes its connection and tries no other', () => {
  it('when its signal is aborted', async () => {
    await using silent = await startSilentServer();
    const controller = new AbortController();
    const connecting = rejection(LockClient.connect(silent.connectString, { signal: controller.signal }));
    const closed = once(await silent.connected(), 'close');
    const reason = new Error('changed my mind');
    controller.abort(reason);
    expect(await connecting).to.equal(reason);
    await closed;
    expect(silent.connections).to.have.length(1);
  });

  it('when its time is over', async () => {
    await using silent = await startSilentServer();
    // The shortest attempt takes 250 ms.
    const connecting = rejection(LockClient.connect(silent.connectString, { connectionTimeoutMs: 240 }));
    const closed = once(await silent.connected(), 'close');
    expect(await connecting).to.be.instanceOf(ConnectionTimeoutError);
    await closed;
    expect(silent.connections).to.have.length(1);
  });
});
