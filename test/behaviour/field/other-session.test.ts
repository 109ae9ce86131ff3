import { expect } from 'chai';
import { InterProcessMutex, LockLostError, type ConnectionState } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { sent } from '../../../lab/proxy/frame-matches.ts';
import { aborted, until } from '../../../lab/until.ts';
import { sleep } from '../../../lab/world.ts';
import {
  awaitedLater,
  becomeQuiet,
  createParents,
  dialsInAMinute,
  keepsWarnings,
  mostDialsInAMinute,
  sessionsOn,
  statesOf,
} from './support.ts';

/** The shortest that ClickHouse Keeper grants. */
const sessionTimeoutMs = 10_000;
const limit = { timeoutMs: 4 * sessionTimeoutMs };
const { warnings, logger } = keepsWarnings();

describe('FIELD A3: at a server that answers a reconnect with another session', function () {
  this.timeout(400_000);
  const lab = labOfEachTest('other-session', {
    server: { keeper: 'containers' },
    proxy: true,
    client: { sessionTimeoutMs, logger },
  });
  let states: ConnectionState[];
  beforeEach(() => {
    states = statesOf(lab.client);
    warnings.length = 0;
  });

  /** The sessions of the three clients of the laboratory. */
  const onlySessionsInUse = async (): Promise<void> => {
    await until('no session is left over', async () => (await sessionsOn(lab)).size === 3, 2_000);
    const all = await sessionsOn(lab);
    for (const client of [lab.client, lab.other]) expect(all).to.include(client.health().sessionId);
  };
  /** The sessions that have lost their connection end at their timeout. */
  const untilExpired = (): Promise<void> => lab.sleep(1.2 * sessionTimeoutMs);

  it('an idle client acquires on its old connection, and closes the session that its attach was granted', async () => {
    await createParents(lab.client, lab.path);
    await becomeQuiet(sessionTimeoutMs);
    const { sessionId } = lab.client.health();
    await using hold = await lab.mutex.acquire(limit);
    expect(hold.isValid).to.equal(true);
    expect(states).to.deep.equal([]);
    expect(lab.client.health().sessionId).to.equal(sessionId);
    await onlySessionsInUse();
  });

  it('a client that knows it attaches no more: ten acquires after idle times, and not one further dial', async () => {
    await createParents(lab.client, lab.path);
    lab.proxy.cut();
    await (await lab.mutex.acquire(limit)).release();
    await becomeQuiet(sessionTimeoutMs);
    const { dials } = lab.proxy;
    const { sessionId } = lab.client.health();
    states.length = 0;
    for (let turn = 0; turn < 10; turn += 1) {
      const startedAt = lab.now();
      await (await lab.mutex.acquire(limit)).release();
      expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs);
      await becomeQuiet(sessionTimeoutMs);
    }
    expect(lab.proxy.dials).to.equal(dials);
    expect(states).to.deep.equal([]);
    expect(lab.client.health().sessionId).to.equal(sessionId);
  });

  it('an idle client whose connection was cut goes on in another session, with one warning about the server', async () => {
    await createParents(lab.client, lab.path);
    const { sessionId } = lab.client.health();
    lab.proxy.cut();
    const hold = await lab.mutex.acquire(limit);
    expect(hold.isValid).to.equal(true);
    expect(lab.client.health().sessionId).to.not.equal(sessionId);
    const about = warnings.filter((warning) => warning.includes('does not resume sessions'));
    expect(about).to.have.length(1);
    expect(about[0]).to.include(`127.0.0.1:${lab.proxy.port}`);
    await hold.release();
    await untilExpired();
    await onlySessionsInUse();
  });

  it(`an idle client dials at most ${mostDialsInAMinute} times in the minute after a cut`, async () => {
    lab.proxy.cut();
    expect(await dialsInAMinute(lab.proxy)).to.be.at.most(mostDialsInAMinute);
    expect(lab.client.state).to.be.oneOf(['connected', 'reconnected']);
    await onlySessionsInUse();
  });

  it('a holder is told before the server can grant the lock to another client', async () => {
    const hold = await lab.mutex.acquire(limit);
    let lostAt = Infinity;
    const lost = aborted(hold.signal).then((reason) => {
      lostAt = lab.now();
      return reason;
    });
    const next = awaitedLater(lab.theirs.acquire({ timeoutMs: 10 * sessionTimeoutMs }));
    await lab.sleep(50);
    lab.proxy.cut();
    await using _theirs = await next;
    expect(lostAt).to.be.at.most(lab.now());
    expect(await lost).to.be.instanceOf(LockLostError);
    expect(hold.isValid).to.equal(false);
  });

  it('a holder loses its lock as `session-expired` as soon as a second attempt got another session', async () => {
    const hold = await lab.mutex.acquire(limit);
    const cutAt = lab.now();
    lab.proxy.cut();
    const reason = (await aborted(hold.signal)) as LockLostError;
    expect(reason.reason).to.equal('session-expired');
    expect(lab.now() - cutAt).to.be.below(sessionTimeoutMs / 4);
    expect(lab.proxy.frames.filter(sent('connect')).length).to.be.within(3, 4);
    await untilExpired();
    await onlySessionsInUse();
  });

  it('a waiter starts over in the next session, and is granted the lock', async () => {
    const held = await lab.theirs.acquire(limit);
    const waiting = awaitedLater(lab.mutex.acquire(limit));
    await lab.queueReaches(2);
    const [, place] = await lab.theirs.participants();
    lab.proxy.cut();
    await lab.sleep(sessionTimeoutMs / 2);
    await held.release();
    const hold = await waiting;
    expect(hold.isValid).to.equal(true);
    expect(hold.path).to.not.equal(place?.path);
    await hold.release();
    await untilExpired();
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    await onlySessionsInUse();
  });

  it('50 cuts leave no session behind but those that the server ends at their timeouts', async () => {
    for (let cuts = 0; cuts < 50; cuts += 1) {
      lab.proxy.cut();
      await lab.sleep(500);
    }
    await (await lab.mutex.acquire(limit)).release();
    await untilExpired();
    await onlySessionsInUse();
  });

  it('the session of a lost job that still runs is asked for once, and no session is left over', async () => {
    let finish = (): void => undefined;
    const running = awaitedLater(
      lab.mutex
        .withLock(() => new Promise<void>((resolve) => (finish = resolve)), limit)
        .catch((error: unknown) => error),
    );
    await until('it holds', () => lab.mutex.isAcquiredInThisProcess);
    lab.proxy.cut();
    await until('it is lost', () => states.includes('lost'));
    await lab.sleep(1_000);
    const { dials } = lab.proxy;
    finish();
    expect(await running).to.be.instanceOf(LockLostError);
    expect(await dialsInAMinute(lab.proxy)).to.be.at.most(3);
    expect(dials).to.be.at.most(6);
    await onlySessionsInUse();
  });

  it('a client that was cut off for longer than its session lives comes back with one session', async () => {
    await createParents(lab.client, lab.path);
    await lab.proxy.admit('closed');
    lab.proxy.cut();
    await lab.sleep(3 * sessionTimeoutMs);
    await lab.proxy.admit('served');
    await using hold = await lab.mutex.acquire(limit);
    expect(hold.isValid).to.equal(true);
    await onlySessionsInUse();
  });

  it('a client that is closed while it reconnects leaves no session that it was granted', async () => {
    lab.proxy.cut();
    await lab.sleep(1);
    await lab.client.close({ timeoutMs: 5_000 });
    await untilExpired();
    expect((await sessionsOn(lab)).size).to.equal(2);
  });
});

describe('FIELD A3: a client between a server that resumes sessions and one that does not', function () {
  this.timeout(400_000);
  const keeper = labOfEachTest('two-servers', { server: { keeper: 'containers' }, client: 'none' });
  // Two servers that start at one moment would give the same ids to their sessions.
  before(() => sleep(1_000));
  const zookeeper = labOfEachTest('two-servers', { server: 'own', proxy: true, client: 'none' });

  it('keeps its session if the one that knows it answers again', async () => {
    const client = await zookeeper.connect({ sessionTimeoutMs: 30_000 });
    const hold = await new InterProcessMutex(client, zookeeper.path).acquire(limit);
    const { sessionId } = client.health();
    // One connection only is balanced to the other ensemble.
    zookeeper.proxy.retarget(keeper.server.port);
    const reached = zookeeper.proxy.seen((frame) => frame.from === 'server' && frame.op === 'connect', 2);
    zookeeper.proxy.cut();
    await reached;
    zookeeper.proxy.retarget(zookeeper.server.port);
    await until('it is back', () => client.state === 'reconnected');
    expect(client.health().sessionId).to.equal(sessionId);
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
    await client.close();
    expect((await sessionsOn(keeper)).size).to.equal(1);
  });
});
