import { expect } from 'chai';
import {
  InterProcessMutex,
  LockClient,
  LockLostError,
  SessionExpiredError,
  type ConnectionState,
  type Hold,
} from '../../src/index.ts';
import { reached } from '../../lab/reached.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches } from '../../lab/queue.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { startServer } from '../../lab/servers/zookeeper-server.ts';

const sessionTimeoutMs = 3_000;

describe('the loss of a session', () => {
  const lab = labOfEachTest('session-loss', { server: 'own', proxy: true, client: { sessionTimeoutMs } });

  it('reported by the server aborts the holder’s signal, and the client continues in a new session', async () => {
    const hold = await lab.mutex.acquire();
    const loss = aborted(hold.signal);
    const states: ConnectionState[] = [];
    lab.client.on('state', (state) => void states.push(state));
    const again = reached(lab.client, 'reconnected');
    await lab.endSession(lab.client);
    const reason = (await loss) as LockLostError;
    expect(reason).to.be.instanceOf(LockLostError);
    expect(reason.reason).to.equal('session-expired');
    expect(reason.cause)
      .to.be.instanceOf(SessionExpiredError)
      .with.property('message')
      .that.matches(/0x[0-9a-f]+/);
    expect(hold.isValid).to.equal(false);
    await again;
    expect(states).to.deep.equal(['suspended', 'lost', 'reconnected']);
    await using next = await lab.mutex.acquire();
    expect(next.isValid).to.equal(true);
    expect(next.fencingToken > hold.fencingToken).to.equal(true);
    expect(await hold.release()).to.equal('lost');
    expect(next.isValid).to.equal(true);
  });

  it('reported by the server makes a waiter start over in the new session, where it is granted', async () => {
    await using other = await LockClient.connect(lab.server.connectString);
    const gate = await new InterProcessMutex(other, lab.path).acquire();
    const waiting = lab.mutex.acquire();
    await lab.queueReaches(2);
    const before = lab.client.session.id;
    await lab.endSession(lab.client);
    await until(
      'the waiter is queued again, in another session',
      async () => (await lab.observer.children(lab.path)).length === 2 && lab.client.session.id !== before,
    );
    await gate.release();
    await using hold = await waiting;
    const [participant] = await lab.mutex.participants();
    expect(participant?.path).to.equal(hold.path);
    expect(participant?.sessionId).to.equal(`0x${lab.client.session.id.toString(16)}`);
  });

  it('after silence aborts the holder’s signal before another client can be granted the lock', async () => {
    const hold = await lab.mutex.acquire();
    const { session, host } = lab.client;
    let toldAt = Infinity;
    const loss = aborted(hold.signal).then((reason) => {
      toldAt = host.clock.now();
      return reason as LockLostError;
    });
    await using other = await LockClient.connect(lab.server.connectString);
    const waiting = new InterProcessMutex(other, lab.path).acquire();
    await lab.queueReaches(2);
    lab.proxy.silence();
    const { deadline } = session;
    await using next = await waiting;
    expect(toldAt)
      .to.be.within(deadline, deadline + 1)
      .and.below(host.clock.now());
    expect((await loss).reason).to.equal('session-deadline');
    expect(next.fencingToken > hold.fencingToken).to.equal(true);
    lab.proxy.speak();
    await reached(lab.client, 'reconnected');
    expect(await hold.release()).to.equal('lost');
    expect(next.isValid).to.equal(true);
  });

  it('after silence keeps the znode of the lost hold while its job runs, and deletes it afterwards', async () => {
    const hold = await lab.mutex.acquire();
    // The requests arrive, so the session lives on the server. No reply returns, so the client loses the session.
    const hear = lab.proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    const lost = reached(lab.client, 'lost');
    const again = reached(lab.client, 'reconnected');
    await aborted(hold.signal);
    await lost;
    hear();
    await again;
    expect(await lab.observer.children(lab.path)).to.have.length(1);
    const old = hold.path;
    expect(await hold.release()).to.equal('lost');
    const releasedAt = lab.now();
    await until('the session of the lost hold is closed', async () => !(await lab.observer.exists(old)));
    expect(lab.now() - releasedAt).to.be.below(50);
  });

  it('after silence makes a waiter of the same session start over at once in the new one', async () => {
    const path = testPath('silence-waiter');
    const hold = await new InterProcessMutex(lab.client, testPath('silence-holder')).acquire();
    const waiting = new InterProcessMutex(lab.client, path);
    await using other = await LockClient.connect(lab.server.connectString);
    const gate = await new InterProcessMutex(other, path).acquire();
    const next = waiting.acquire();
    await lab.queueReaches(2, path);
    const hear = lab.proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    const again = reached(lab.client, 'reconnected');
    await aborted(hold.signal);
    hear();
    await again;
    await gate.release();
    const granted = await next;
    const [holder] = await waiting.participants();
    expect(granted.isValid).to.equal(true);
    expect(holder?.sessionId).to.equal(`0x${lab.client.session.id.toString(16)}`);
    await hold.release();
    await granted.release();
    await lab.queueReaches(0, path);
  });

  it('makes a waiter that reads of its deleted znode first after a freeze start over, although it never tries again', async () => {
    const retryPolicy = { allowRetry: () => ({ retry: false }) as const };
    const client = await lab.connect({ sessionTimeoutMs, retryPolicy });
    const held = await lab.theirs.acquire();
    const waiting = new InterProcessMutex(client, lab.path).acquire();
    await until('the waiter watches its predecessor', () => client.session.watches.has(held.path));
    await lab.sleep(1_500);
    lab.stall(2 * sessionTimeoutMs);
    await lab.sleep(100);
    await held.release();
    const hold = await waiting;
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });

  for (const at of ['suspended', 'connected'])
    it(`that a listener finds when the session is ${at} leaves no later state of that session`, async () => {
      const hold = await lab.mutex.acquire();
      const { session } = lab.client;
      session.onChange(() => {
        if (session.state.at !== at) return;
        lab.stall(sessionTimeoutMs);
        expect(hold.isValid).to.equal(false);
      });
      const states: ConnectionState[] = [];
      lab.client.on('state', (state) => void states.push(state));
      const again = reached(lab.client, 'reconnected');
      lab.proxy.cut();
      await again;
      expect(lab.client.session).to.not.equal(session);
      expect(states).to.deep.equal([...(at === 'connected' ? ['suspended'] : []), 'lost', 'reconnected']);
    });

  it('is visible to isValid at the first read after a blocked event loop, before any timer ran', async () => {
    await using hold = await new InterProcessMutex(lab.client, testPath('blocked')).acquire();
    lab.stall(sessionTimeoutMs + 100);
    expect(hold.isValid).to.equal(false);
    expect(() => hold.assertValid()).to.throw(LockLostError);
    expect(hold.signal.aborted).to.equal(true);
  });

  describe('in a listener that blocks the event loop', () => {
    const mutexes = (...names: string[]): InterProcessMutex[] =>
      names.map((name) => new InterProcessMutex(lab.client, testPath(name)));
    const lose = (hold: Hold): void => {
      lab.stall(sessionTimeoutMs + 100);
      expect(hold.isValid).to.equal(false);
    };

    it('is reported for a hold that was granted before, and begins afterwards', async () => {
      const [first, second, third] = mutexes('first', 'second', 'third') as [
        InterProcessMutex,
        InterProcessMutex,
        InterProcessMutex,
      ];
      const holds = [await first.acquire(), await second.acquire()];
      const other = await third.acquire();
      const waiting = [first.acquire(), second.acquire()];
      await queueReaches(first, 2);
      await queueReaches(second, 2);
      const events: string[] = [];
      lab.client.on('lock', ({ type, path }) => {
        if (type !== 'acquired' && type !== 'lost') return;
        events.push(`${type} ${path}`);
        if (events.length === 1) lose(other);
      });
      for (const hold of holds) void hold.release();
      const granted = await Promise.all(waiting);
      expect(events).to.include.members([`acquired ${second.path}`, `lost ${second.path}`]);
      await Promise.all([other, ...granted].map((hold) => hold.release()));
    });

    it('makes a waiter that learns its place start over in the next session', async () => {
      const [mutex] = mutexes('queued') as [InterProcessMutex];
      const hold = await mutex.acquire();
      lab.client.on('lock', ({ type }) => {
        if (type === 'queued' && hold.isValid) lose(hold);
      });
      const waiting = mutex.acquire({ timeoutMs: 10 * sessionTimeoutMs });
      await aborted(hold.signal);
      expect(await hold.release()).to.equal('lost');
      await using next = await waiting;
      expect(next.isValid).to.equal(true);
    });
  });

  it('does not follow a restart within the timeout: holds stay valid, waiters keep their znodes', async () => {
    const own = await startServer();
    const direct = await LockClient.connect(own.connectString, { sessionTimeoutMs: 30_000 });
    try {
      const mutex = new InterProcessMutex(direct, lab.path);
      const hold = await mutex.acquire();
      const waiting = mutex.acquire();
      await until('the waiter is queued', async () => (await mutex.participants()).length === 2);
      const before = (await mutex.participants()).map((participant) => participant.path);
      const again = new Promise<void>((resolve) => direct.on('state', (state) => state === 'reconnected' && resolve()));
      await own.kill();
      await own.start();
      await again;
      expect(hold.isValid).to.equal(true);
      expect((await mutex.participants()).map((participant) => participant.path)).to.deep.equal(before);
      await hold.release();
      expect((await waiting).path).to.equal(before[1]);
      await (await waiting).release();
    } finally {
      await direct.close({ timeoutMs: 500 });
      await own.stop();
    }
  });

  it('has not happened yet: an acquire waits for the connection, and times out without one', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('suspended'));
    await lab.disconnect();
    expect((await rejection(mutex.acquire({ timeoutMs: 50 }))).code).to.equal('ERR_LOCK_TIMEOUT');
    expect(await mutex.tryAcquire()).to.equal(undefined);
    const waiting = mutex.acquire();
    await lab.proxy.accept();
    await (await waiting).release();
  });

  it('during a release: its outcome is decided at once, and the znode is deleted later', async () => {
    const hold = await lab.mutex.acquire();
    await lab.proxy.refuse();
    const suspended = reached(lab.client, 'suspended');
    const overdue = reached(lab.client, 'lost');
    lab.proxy.cut();
    await suspended;
    const releasing = hold.release();
    expect(hold.isValid).to.equal(false);
    expect(await releasing).to.equal('released');
    await overdue;
    await lab.proxy.accept();
    await lab.queueReaches(0);
  });

  it('does not end a session without a hold at its deadline: its waiters keep their place', async () => {
    await using other = await LockClient.connect(lab.server.connectString);
    const gate = await new InterProcessMutex(other, lab.path).acquire();
    const waiting: Promise<Hold> = lab.mutex.acquire();
    await lab.queueReaches(2);
    const place = (await lab.mutex.participants())[1]?.path;
    const { id } = lab.client.session;
    const hear = lab.proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    const again = reached(lab.client, 'reconnected');
    await reached(lab.client, 'lost');
    hear();
    await again;
    expect(lab.client.session.id).to.equal(id);
    await gate.release();
    expect((await waiting).path).to.equal(place);
    await (await waiting).release();
  });
});

describe('a first connection', () => {
  it('without an answer is a ConnectionTimeoutError that names the hosts and the last socket error', async () => {
    const error = await rejection(LockClient.connect('127.0.0.1:1,127.0.0.1:2', { connectionTimeoutMs: 200 }));
    expect(error.code).to.equal('ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message)
      .to.contain('127.0.0.1:1')
      .and.to.contain('127.0.0.1:2')
      .and.to.contain('200 ms')
      .and.to.contain('ECONNREFUSED');
    expect(error.cause).to.be.instanceOf(Error);
  });

  it('to an unknown name is an error with the cause', async () => {
    const error = await rejection(LockClient.connect('no-such-host.invalid:2181', { connectionTimeoutMs: 1_500 }));
    expect(error.code).to.equal('ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.contain('no-such-host.invalid').and.to.contain('ENOTFOUND');
  });

  it('ends with the reason of its signal', async () => {
    const controller = new AbortController();
    const reason = new Error('never mind');
    const connecting = rejection(LockClient.connect('127.0.0.1:1', { signal: controller.signal }));
    controller.abort(reason);
    expect(await connecting).to.equal(reason);
  });
});
