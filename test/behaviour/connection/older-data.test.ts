import { expect } from 'chai';
import {
  InterProcessMutex,
  LockClient,
  type BackgroundEvent,
  type ConnectionState,
  type Hold,
} from '../../../src/index.ts';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { sessionName } from '../../../src/zookeeper/wire/wire-session.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { queueReaches } from '../../../lab/queue.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { now } from '../../../lab/world.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';

const sessionTimeoutMs = 3_000;
/** A hold survives the restart of a server. */
const longTimeoutMs = 10_000;

/** The states and events that a client has emitted. */
class Emitted {
  readonly states: ConnectionState[] = [];
  readonly events: BackgroundEvent[] = [];

  constructor(client: LockClient) {
    client.on('state', (state) => this.states.push(state));
    client.on('background', (event) => this.events.push(event));
  }

  ends(): readonly BackgroundEvent[] {
    return this.events.filter(({ type }) => type === 'session-ended');
  }
}

/** True for a ConnectRequest that asks for a new session. */
const asksForNewSession = ({ body }: Frame): boolean => body.readBigInt64BE(16) === 0n;
const isConnect = (frame: Frame): boolean => frame.from === 'client' && frame.op === 'connect';

describe('servers with older data', () => {
  let server: ZooKeeperServer;

  beforeEach(async () => (server = await startServer()));
  afterEach(() => server.stop());

  /** Writes so much that no server with empty data reaches its zxid by itself. */
  const writeMuch = async (): Promise<void> => {
    await using outside = await connectObserver(server.connectString);
    const path = testPath('').slice(0, -1);
    await outside.create(path);
    for (let left = 200; left > 0; left -= 1) await outside.touch(path);
  };

  it('(wiped) replace the session of a waiter without a timeout, which then acquires', async () => {
    await writeMuch();
    await using holder = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    const path = testPath('wiped');
    const held = await new InterProcessMutex(holder, path).acquire();
    const waiting = new InterProcessMutex(client, path).acquire();
    await using outside = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    await until(
      'the waiter is queued',
      async () => (await new InterProcessMutex(outside, path).participants()).length === 2,
    );
    const emitted = new Emitted(client);
    const sessionId = sessionName(client.session.id);

    await server.kill();
    server.wipe();
    await server.start();
    await using hold = await waiting;
    expect(hold.isValid).to.equal(true);
    expect(held.isValid).to.equal(false);
    expect(emitted.states).to.deep.equal(['suspended', 'lost', 'reconnected']);
    expect(emitted.ends()).to.deep.equal([{ type: 'session-ended', sessionId, why: 'replaced' }]);
    expect(emitted.events.map(({ type }) => type)).to.include.members(['connected']);
    await held.release();
  });

  it('(wiped) replace the session of an idle client, and its next acquire is granted', async () => {
    await writeMuch();
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    const before = client.session.id;
    await server.kill();
    server.wipe();
    await server.start();
    await new InterProcessMutex(client, testPath('idle')).withLock((hold) => expect(hold.isValid).to.equal(true));
    expect(client.session.id).not.to.equal(before);
  });

  it('(wiped) replace the session, and an acquire during the next outage of the new one is granted after it', async () => {
    await writeMuch();
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    const mutex = new InterProcessMutex(client, testPath('outage'));
    await server.kill();
    server.wipe();
    await server.start();
    await mutex.withLock((hold) => expect(hold.isValid).to.equal(true));
    const { id } = client.session;
    await server.kill();
    await until('the connection is lost', () => client.state === 'suspended');
    const waiting = mutex.acquire({ timeoutMs: 60_000 });
    await server.start();
    await (await waiting).release();
    expect(client.session.id).to.equal(id);
  });

  it('(wiped) end a hold at its deadline, and the lock is acquired again in the next session', async () => {
    await writeMuch();
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs });
    const emitted = new Emitted(client);
    const mutex = new InterProcessMutex(client, testPath('held'));
    const hold = await mutex.acquire();
    await server.kill();
    server.wipe();
    await server.start();
    expect(await aborted(hold.signal)).to.have.property('reason', 'session-deadline');
    await hold.release();
    await using next = await mutex.acquire();
    expect(next.isValid).to.equal(true);
    await until('the servers say that the lost session has ended', () =>
      emitted.events.some(({ type }) => type === 'lost-session-closed'),
    );
  });

  it('(restored from a backup) replace the session of a waiter, and close the old session', async () => {
    await using holder = await LockClient.connect(server.connectString, { sessionTimeoutMs: longTimeoutMs });
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs: longTimeoutMs });
    const path = testPath('backup');
    const held = await new InterProcessMutex(holder, path).acquire();
    const waiting = new InterProcessMutex(client, path).acquire();
    await using outside = await LockClient.connect(server.connectString, { sessionTimeoutMs: longTimeoutMs });
    const queue = new InterProcessMutex(outside, path);
    await until('the waiter is queued', async () => (await queue.participants()).length === 2);
    await server.kill();
    const restore = server.backUp();
    await server.start();
    await until('all clients are connected again', () =>
      [holder, client, outside].every(({ session }) => session.isConnected),
    );
    await writeMuch();
    await until('the waiter has seen the newer data', () => client.session.connection.lastZxid > 200n);

    const emitted = new Emitted(client);
    await server.kill();
    restore();
    await server.start();
    expect(await aborted(held.signal)).to.have.property('reason', 'session-deadline');
    await held.release();
    await using hold = await waiting;
    hold.assertValid();
    expect(emitted.ends()).to.have.length(1).and.to.have.nested.property('[0].why', 'replaced');
    const isClosed = (): boolean => emitted.events.some(({ type }) => type === 'lost-session-closed');
    await until('the servers have closed the old session', isClosed, 2 * longTimeoutMs);
    expect((await queue.participants()).map((participant) => participant.path)).to.deep.equal([hold.path]);
  });
});

describe('a server that refuses without a reply', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: LockClient;
  let accept: () => void;

  before(async () => (server = await startServer({ config: { maxSessionTimeout: sessionTimeoutMs } })));
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server.port);
    // More than the server grants.
    client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 20 * sessionTimeoutMs });
  });
  afterEach(async () => {
    accept();
    await client.close();
    await proxy.close();
  });

  /** Refuses as a server does that has seen less than the client: by the zxid alone. */
  const refuse = (): void => {
    proxy.clear();
    accept = proxy.on((frame) => (isConnect(frame) && frame.body.readBigInt64BE(4) > 0n ? 'cut' : undefined));
    proxy.cut();
  };
  const isProbe = (frame: Frame): boolean => isConnect(frame) && asksForNewSession(frame);
  /** The ids of the sessions: the session tracker prints each on its own line. */
  const sessions = async (): Promise<string[]> => {
    const lines = (await server.command('dump')).split('\n').map((line) => line.trim());
    return lines
      .slice(
        0,
        lines.findIndex((line) => line.startsWith('ephemeral nodes')),
      )
      .filter((line) => /^0x[0-9a-f]+$/.test(line));
  };

  it('grants trial sessions, and the old one goes on with its waiters in place', async () => {
    await using holder = await LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000 });
    const path = testPath('refused');
    const held = await new InterProcessMutex(holder, path).acquire();
    const waiting = new InterProcessMutex(client, path).acquire();
    const queue = new InterProcessMutex(holder, path);
    await until('the waiter is queued', async () => (await queue.participants()).length === 2);
    const place = (await queue.participants())[1]?.path;
    const { id } = client.session;
    const emitted = new Emitted(client);

    refuse();
    // Keeps the session alive on the server, as a leader does that was elected after a long time. Before the refusal, it
    // would end the client's connection, and the client would connect again.
    using twin = await ConnectionProbe.connect([server.port], {
      resume: client.session.connection.identity,
      sessionTimeoutMs,
    });
    let keepsAlive = true;
    const alive = until(
      'the test is over',
      async () => {
        await twin.send(exists('/')).catch(() => undefined);
        return !keepsAlive;
      },
      60_000,
    );
    await proxy.seen(isProbe, 1);
    const closed = (frame: Frame): boolean => frame.from === 'server' && frame.op === 'closeSession';
    await proxy.seen(closed, 2);
    expect(proxy.frames.filter(isProbe)).to.have.length(2);
    expect(emitted.states).to.deep.equal(['suspended', 'lost']);
    expect(client.session.id).to.equal(id);
    await until('the trial sessions are closed', async () => (await sessions()).length === 2);

    keepsAlive = false;
    await alive;
    twin.connection.abandon();
    accept();
    await until('the client is reconnected', () => client.state === 'reconnected');
    expect(client.session.id).to.equal(id);
    expect(emitted.ends()).to.deep.equal([]);
    await held.release();
    const hold: Hold = await waiting;
    expect(hold.path).to.equal(place);
    await hold.release();

    // The pauses between trial sessions are short again.
    refuse();
    await proxy.seen(isProbe, 1);
    const firstAt = now();
    await proxy.seen(isProbe, 2);
    expect(now() - firstAt).to.be.below(2_100);
  });

  it('gets trial sessions after a session timeout, with longer and longer pauses', async () => {
    const refusedAt = now();
    refuse();
    const pauses: number[] = [];
    for (let count = 1, before = refusedAt; count <= 5; count += 1) {
      await proxy.seen(isProbe, count);
      pauses.push(now() - before);
      before = now();
    }
    // A server must have refused the client once since the session was lost. The client dials again after up to a second.
    const leastMs = [sessionTimeoutMs * 0.9, 1_000, 2_000, sessionTimeoutMs, sessionTimeoutMs];
    for (const [index, least] of leastMs.entries())
      expect(pauses[index], `pause ${index}`).to.be.within(least - 10, least + (index === 0 ? 2_000 : 1_000) + 10);
  });

  it('does not delay close(), which leaves neither the old nor the trial session', async () => {
    refuse();
    // Holds the frame while the new session exists and has not been judged.
    const probed = new Promise<void>((resolve) => {
      const remove = proxy.on((frame) => {
        if (frame.from !== 'client' || frame.op !== 'multi') return undefined;
        remove();
        resolve();
        return 'hold';
      });
    });
    await probed;
    const startedAt = now();
    const closing = client.close({ timeoutMs: 10_000 });
    proxy.speak();
    await closing;
    expect(now() - startedAt).to.be.below(10);
    await until('no session is left', async () => (await sessions()).length === 0);
  });

  it('does not delay close() while it grants the new session', async () => {
    refuse();
    // The client's own, and those that an ended proxy has kept from closing.
    const before = await sessions();
    const others = async (): Promise<string[]> => (await sessions()).filter((name) => !before.includes(name));
    const remove = proxy.on((frame) => (frame.from === 'server' && frame.op === 'connect' ? 'hold' : undefined));
    await until('a session is granted', async () => (await others()).length > 0);
    const startedAt = now();
    const closing = client.close({ timeoutMs: 10_000 });
    remove();
    proxy.speak();
    await closing;
    expect(now() - startedAt).to.be.below(10);
    // A second before the session would expire.
    await until('no session is left', async () => (await others()).length === 0, 2_000);
  });

  it('does not delay close() of a client with a waiter, whose znode is deleted', async () => {
    await using outside = await LockClient.connect(server.connectString);
    const theirs = new InterProcessMutex(outside, testPath('closed'));
    const gate = await theirs.acquire();
    const waiting = rejection(new InterProcessMutex(client, theirs.path).acquire());
    await queueReaches(theirs, 2);
    refuse();
    const stop = proxy.on((frame) => (isProbe(frame) ? 'cut' : undefined));
    await until('each server has refused the session', () => client.session.connection.history.areAllSilent);
    const startedAt = now();
    await client.close({ timeoutMs: 10_000 });
    expect(now() - startedAt).to.be.below(1_000);
    stop();
    expect(await waiting).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    expect((await theirs.participants()).map(({ path }) => path)).to.deep.equal([gate.path]);
  });

  it('gets no trial session from a client that could not reach any server', async () => {
    accept = () => undefined;
    await proxy.refuse();
    proxy.cut();
    await until('the session is lost', () => client.state === 'lost');
    const { id } = client.session;
    proxy.clear();
    await until('every host was tried since the loss', () => client.session.connection.history.areAllSilent);
    await proxy.accept();
    await until('the client is reconnected', () => client.state === 'reconnected');
    // The server has expired the session in the meantime, and says so.
    expect(client.session.id).not.to.equal(id);
    const [first] = proxy.frames.filter(isConnect);
    expect(first && asksForNewSession(first)).to.equal(false);
  });
});
