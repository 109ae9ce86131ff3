import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { aborted, until } from '../../../lab/until.ts';
import { sessionName } from '../../../src/zookeeper/wire/wire-session.ts';
import { PlainSession } from './support/plain-session.ts';
import { embeddedOfEachTest } from './support/embedded.ts';

describe('a session on an embedded ZooKeeper', () => {
  const clock = new ManualClock();
  const lab = embeddedOfEachTest({ tickTimeMs: 100, minSessionTimeoutMs: 300, maxSessionTimeoutMs: 5_000, clock });

  it('gets the timeout that it asks for, within the bounds of the server', async () => {
    const granted = await Promise.all(
      [1, 1_234, 100_000].map(async (timeoutMs) => (await PlainSession.open(lab.zk.port, timeoutMs)).timeoutMs),
    );
    expect(granted).to.deep.equal([300, 1_234, 5_000]);
  });

  it('expires at the end of the tick in which its timeout ends, and not before', async () => {
    const session = await PlainSession.open(lab.zk.port, 300);
    // The session was touched at the start of a tick, so its timeout of three ticks ends with the fourth.
    clock.advance(100 - (clock.now() % 100));
    await session.request({ op: 'ping' });
    clock.advance(399);
    expect(lab.zk.sessionIds).to.have.length(1);
    clock.advance(1);
    expect(lab.zk.sessionIds).to.deep.equal([]);
    await session.closed;
  });

  it('stays alive while it sends pings', async () => {
    const session = await PlainSession.open(lab.zk.port, 300);
    for (let tick = 0; tick < 10; tick += 1) {
      await session.request({ op: 'ping' });
      clock.advance(250);
    }
    expect(lab.zk.sessionIds).to.deep.equal([session.id]);
  });

  it('deletes its ephemeral znodes when it expires, and notifies the clients that watch them', async () => {
    const session = await PlainSession.open(lab.zk.port, 300);
    const other = await PlainSession.open(lab.zk.port, 5_000);
    await session.create('/ephemeral', 1);
    await other.request({ op: 'exists', path: '/ephemeral', watch: true });
    clock.advance(500);
    expect(await other.nextEvent()).to.deep.equal({ type: 2, path: '/ephemeral' });
    expect((await other.request({ op: 'exists', path: '/ephemeral' })).error).to.equal(-101);
  });

  it('is resumed with its password on a new connection, which ends the old one', async () => {
    const session = await PlainSession.open(lab.zk.port, 300);
    const resumed = await PlainSession.open(lab.zk.port, 300, session.ticket);
    expect(resumed.ticket).to.deep.equal(session.ticket);
    await session.closed;
  });

  it('is refused if it is unknown or over, or if its password is wrong', async () => {
    const session = await PlainSession.open(lab.zk.port, 300);
    const { sessionId, password } = session.ticket;
    lab.zk.expireSession(session.id);
    for (const ticket of [session.ticket, { sessionId: sessionId + 1n, password }])
      expect((await PlainSession.open(lab.zk.port, 300, ticket)).isRefused).to.equal(true);
    const another = await PlainSession.open(lab.zk.port, 300);
    expect((await PlainSession.open(lab.zk.port, 300, { ...another.ticket, password })).isRefused).to.equal(true);
  });

  it('ends when expireSession is called, which returns true only for an open session', async () => {
    const session = await PlainSession.open(lab.zk.port, 5_000);
    expect(lab.zk.expireSession(session.id)).to.equal(true);
    await session.closed;
    expect(lab.zk.expireSession(session.id)).to.equal(false);
    expect(() => lab.zk.expireSession('mine')).to.throw(TypeError, /`id` to be a session's id such as .*, got "mine"/);
  });

  it('that expires tells its own client by the end of the connection alone, so all holds are lost with the session', async () => {
    await using zk = await EmbeddedZooKeeper.start();
    await using client = await LockClient.connect(zk.connectString);
    const holds = [await client.lock('/locks/a'), await client.lock('/locks/b')] as const;
    await until('the client watches its znodes', () => client.session.watches.paths('data').length === 2);
    await client.session.prove();
    const seen = aborted(holds[0].signal).then(() => holds.map(({ isValid }) => isValid));
    zk.expireSession(sessionName(client.session.id));
    expect(await seen).to.deep.equal([false, false]);
    for (const { signal } of holds) expect(signal.reason).to.have.property('reason', 'session-expired');
  });

  it('has the same id as in the participants of a lock', async () => {
    await using zk = await EmbeddedZooKeeper.start();
    await using client = await LockClient.connect(zk.connectString);
    await using hold = await new InterProcessMutex(client, '/locks/a').acquire();
    const holder = await new InterProcessMutex(client, '/locks/a').holder();
    expect([holder?.path, holder?.sessionId]).to.deep.equal([hold.path, ...zk.sessionIds]);
  });

  it('outlives its connection when the connections are dropped', async () => {
    const session = await PlainSession.open(lab.zk.port, 5_000);
    await session.create('/ephemeral', 1);
    lab.zk.dropConnections();
    await session.closed;
    const resumed = await PlainSession.open(lab.zk.port, 5_000, session.ticket);
    expect((await resumed.request({ op: 'exists', path: '/ephemeral' })).error).to.equal(0);
  });

  it('gets its answers after a pause, in order, and none during the pause', async () => {
    const session = await PlainSession.open(lab.zk.port, 5_000);
    lab.zk.pause();
    lab.zk.pause();
    const answers = [session.create('/first', 0), session.create('/second', 0)];
    const before = new PlainSession(lab.zk.port);
    // Another server of this process serves meanwhile, so the paused one has had the time to answer.
    await using busy = await lab.start({});
    await (await PlainSession.open(busy.port, 5_000)).childrenOfRoot();
    expect([session.answers.length, before.answers.length]).to.deep.equal([0, 0]);
    lab.zk.resume();
    lab.zk.resume();
    expect((await Promise.all(answers)).map(({ zxid }) => zxid)).to.deep.equal([2, 3]);
    expect((await before.connect(300).opened()).isRefused).to.equal(false);
  });

  it('has expired after a pause that was longer than its timeout', async () => {
    const session = await PlainSession.open(lab.zk.port, 300);
    lab.zk.pause();
    clock.advance(1_000);
    expect(lab.zk.sessionIds).to.have.length(1);
    lab.zk.resume();
    await session.closed;
    expect(lab.zk.sessionIds).to.deep.equal([]);
  });

  it('leaves no timer behind when the server stops', async () => {
    const ownClock = new ManualClock();
    const zk = await lab.start({ clock: ownClock });
    await PlainSession.open(zk.port, 300);
    expect(ownClock.timers).to.be.greaterThan(0);
    await zk.stop();
    expect(ownClock.timers).to.equal(0);
  });

  it('must be opened within ten seconds, or the connection is closed', async () => {
    const silent = new PlainSession(lab.zk.port);
    await silent.accepted();
    const session = await PlainSession.open(lab.zk.port, 5_000);
    for (const ms of [4_000, 4_000, 1_999]) {
      clock.advance(ms);
      await session.request({ op: 'ping' });
    }
    expect(silent.isClosed).to.equal(false);
    clock.advance(1);
    await silent.closed;
    await session.request({ op: 'ping' });
  });
});

describe('znodes that an embedded ZooKeeper reaps', () => {
  const clock = new ManualClock();
  const lab = embeddedOfEachTest({
    containerCheckIntervalMs: 1_000,
    extendedTypesEnabled: true,
    maxSessionTimeoutMs: 60_000,
    clock,
  });

  it('are containers that have lost their last child, but not containers that never had one', async () => {
    const session = await PlainSession.open(lab.zk.port, 60_000);
    await session.request({ op: 'createContainer', path: '/used' });
    await session.request({ op: 'createContainer', path: '/unused' });
    await session.create('/used/child', 0);
    clock.advance(1_000);
    expect(await session.childrenOfRoot()).to.include('used');
    await session.request({ op: 'delete', path: '/used/child' });
    await session.request({ op: 'exists', path: '/used', watch: true });
    clock.advance(1_000);
    expect(await session.nextEvent()).to.deep.equal({ type: 2, path: '/used' });
    expect([...(await session.childrenOfRoot())].sort()).to.deep.equal(['unused', 'zookeeper']);
  });

  it('are znodes without children whose time to live is over, counted from the last change', async () => {
    const session = await PlainSession.open(lab.zk.port, 60_000);
    await session.request({ op: 'createTTL', path: '/short', ttl: 1_500 });
    await session.request({ op: 'createTTL', path: '/parent', ttl: 1_500 });
    await session.create('/parent/child', 0);
    clock.advance(1_400);
    await session.request({ op: 'setData', path: '/short', data: 'x' });
    clock.advance(1_400);
    expect(await session.childrenOfRoot()).to.include('short');
    clock.advance(2_000);
    expect([...(await session.childrenOfRoot())].sort()).to.deep.equal(['parent', 'zookeeper']);
  });

  it('cannot have a time to live unless the server allows it', async () => {
    await using strict = await lab.start({ extendedTypesEnabled: false });
    const session = await PlainSession.open(strict.port, 4_000);
    expect((await session.request({ op: 'createTTL', path: '/short', ttl: 1_500 })).error).to.equal(-6);
  });
});
