import { expect } from 'chai';
import { InterProcessMutex, LockClient, type Hold } from '../../../src/index.ts';
import { instrument } from '../../../packages/opentelemetry/src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { Telemetry, type Point } from '../../../lab/programs/open-telemetry.ts';
import { queueReaches, takeAway } from '../../../lab/queue.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';

describe('the metrics of OpenTelemetry', () => {
  const lab = labOfEachTest('metrics', { server: 'own', proxy: true, client: 'none' });
  let telemetry: Telemetry;
  let client: LockClient;
  let rival: LockClient;
  let mutex: InterProcessMutex;
  let theirs: InterProcessMutex;

  beforeEach(async () => {
    telemetry = await Telemetry.start({ lockName: (path) => (path.endsWith('theirs') ? 'theirs' : 'ours') });
    client = await lab.connect({ sessionTimeoutMs: 6_000 });
    rival = await lab.connect({}, lab.connectString);
    mutex = new InterProcessMutex(client, lab.path);
    theirs = new InterProcessMutex(rival, lab.path);
  });
  afterEach(() => telemetry[Symbol.asyncDispose]());

  const point = async (name: string, attributes: object = {}): Promise<Point | undefined> => {
    const all = { ...attributes, 'zookeeper.lock.kind': 'mutex', 'zookeeper.lock.name': 'ours' };
    const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
    return (await telemetry.points(name)).get(JSON.stringify(sorted));
  };
  const histogram = async (name: string, attributes: object): Promise<{ count: number; sum: number }> =>
    (await point(name, attributes)) as { count: number; sum: number };
  const ofServers = async (name: string): Promise<unknown> =>
    (await telemetry.points(name)).get(JSON.stringify({ 'zookeeper.ensemble': lab.proxy.connectString }));

  it('count acquires by their outcome', async () => {
    const other = new InterProcessMutex(client, `${lab.path}-theirs`);
    for (let count = 0; count < 7; count += 1) await mutex.withLock(() => undefined);
    await mutex.withLock(() => mutex.withLock(() => undefined)); // the inner one is not counted
    await other.withLock(async () => {
      await rejection(mutex.acquire({ signal: AbortSignal.abort() }));
    });
    const hold = await theirs.acquire();
    for (let count = 0; count < 3; count += 1) await mutex.tryAcquire();
    await rejection(mutex.acquire({ timeoutMs: 5 }));
    await hold.release();
    await client.close();
    const name = 'zookeeper.lock.acquisitions';
    expect(await point(name, { outcome: 'acquired' })).to.equal(9);
    expect(await point(name, { outcome: 'timed-out' })).to.equal(4);
    expect(await point(name, { outcome: 'aborted' })).to.equal(1);
    expect(await point(name, { outcome: 'failed' })).to.equal(0);
    expect((await telemetry.points(name)).size).to.equal(8);
  });

  it('have exact counts of the waits, the holds and the releases, and exact sums of their times', async () => {
    const other = new InterProcessMutex(client, `${lab.path}-theirs`);
    const durations = () =>
      Promise.all([
        histogram('zookeeper.lock.wait.duration', { outcome: 'acquired' }),
        histogram('zookeeper.lock.hold.duration', { outcome: 'released' }),
        histogram('zookeeper.lock.release.duration', { outcome: 'released' }),
      ]);
    await mutex.withLock(() => undefined);
    for (let round = 1; round < 10; round += 1) {
      await other.withLock(() => lab.sleep(5));
      const before = await durations();
      const calledAt = lab.now();
      const hold = await mutex.acquire();
      const waitedMs = lab.now() - calledAt;
      await lab.sleep(5 * round);
      const releasingAt = lab.now();
      await hold.release();
      const releasedMs = lab.now() - releasingAt;
      const after = await durations();
      expect(after.map(({ count }) => count)).to.deep.equal([1 + round, 1 + round, 1 + round]);
      const tookMs = after.map(({ sum }, at) => (sum - (before[at]?.sum ?? NaN)) * 1_000);
      for (const [at, ms] of [waitedMs, 5 * round, releasedMs].entries()) expect(tookMs[at]).to.be.closeTo(ms, 0.001);
    }
  });

  it('show 1,000 waiters of one process, and none when they are gone', async () => {
    await using _hold = await theirs.acquire();
    const stop = new AbortController();
    const waits = Array.from({ length: 1_000 }, () => rejection(mutex.acquire({ signal: stop.signal })));
    expect(await point('zookeeper.lock.waiting')).to.equal(1_000);
    await queueReaches(theirs, 1_001);
    expect(await point('zookeeper.lock.waiting')).to.equal(1_000);
    stop.abort();
    await Promise.all(waits);
    expect(await point('zookeeper.lock.waiting')).to.equal(0);
  });

  it('show the locks that are held, each once', async () => {
    const holds: Hold[] = [];
    for (let count = 0; count < 5; count += 1)
      holds.push(await new InterProcessMutex(client, `${lab.path}-${count}`).acquire());
    expect(await point('zookeeper.lock.held')).to.equal(5);
    await mutex.withLock(async () => {
      await mutex.withLock(async () => expect(await point('zookeeper.lock.held')).to.equal(6));
    });
    for (const hold of holds) await hold.release();
    expect(await point('zookeeper.lock.held')).to.equal(0);
  });

  it('count losses by their reason', async () => {
    for (let count = 0; count < 2; count += 1) {
      const hold = await mutex.acquire();
      await takeAway(hold, lab.observer);
      await hold.release();
    }
    const expired = await mutex.acquire({ leaseMs: 5 });
    await aborted(expired.signal);
    await expired.release();
    const lost = await mutex.acquire();
    await client.close();
    await lost.release();
    const name = 'zookeeper.lock.losses';
    expect(await point(name, { reason: 'node-deleted' })).to.equal(2);
    expect(await point(name, { reason: 'lease-expired' })).to.equal(1);
    expect(await point(name, { reason: 'client-closed' })).to.equal(1);
    expect((await histogram('zookeeper.lock.hold.duration', { outcome: 'lost' })).count).to.equal(3);
    expect((await histogram('zookeeper.lock.hold.duration', { outcome: 'expired' })).count).to.equal(1);
  });

  it('count sessions, their losses and reconnects, and show the time that the session has left', async () => {
    expect(await ofServers('zookeeper.sessions')).to.equal(1);
    expect(await ofServers('zookeeper.session.reconnects')).to.equal(0);
    expect(await ofServers('zookeeper.session.losses')).to.equal(0);
    const remainingMs = Number(await ofServers('zookeeper.session.remaining')) * 1_000;
    expect(remainingMs).to.be.closeTo(client.health().remainingMs, 0.001);
    for (let count = 1; count <= 2; count += 1) {
      lab.proxy.cut();
      await until('it is connected again', async () => (await ofServers('zookeeper.session.reconnects')) === count);
    }
    await lab.observer.endSession(client);
    await until('there is a new session', async () => (await ofServers('zookeeper.sessions')) === 2);
    expect(await ofServers('zookeeper.session.remaining')).to.be.above(0); // although the session before was lost
    await client.close();
    expect(await ofServers('zookeeper.session.losses')).to.equal(1); // not the one that was closed
    expect(await ofServers('zookeeper.session.remaining')).to.be.NaN;
  });

  it('have the names and the units of the documentation', async () => {
    const hold = await mutex.acquire();
    await takeAway(hold, lab.observer);
    await hold.release();
    await mutex.withLock(() => undefined);
    expect([...(await telemetry.instruments())].sort()).to.deep.equal([
      ['zookeeper.lock.acquisitions', '{acquire}'],
      ['zookeeper.lock.held', '{lock}'],
      ['zookeeper.lock.hold.duration', 's'],
      ['zookeeper.lock.losses', '{lock}'],
      ['zookeeper.lock.release.duration', 's'],
      ['zookeeper.lock.wait.duration', 's'],
      ['zookeeper.lock.waiting', '{acquire}'],
      ['zookeeper.session.losses', '{session}'],
      ['zookeeper.session.reconnects', '{reconnect}'],
      ['zookeeper.session.remaining', 's'],
      ['zookeeper.sessions', '{session}'],
    ]);
  });

  it('begin with 0 for every outcome and every reason, so that a query sees the first loss', async () => {
    await mutex.withLock(() => undefined);
    const values = async (name: string) => [...(await telemetry.points(name)).values()].sort();
    expect(await values('zookeeper.lock.losses')).to.deep.equal([0, 0, 0, 0, 0, 0]);
    expect(await values('zookeeper.lock.acquisitions')).to.deep.equal([0, 0, 0, 1]);
  });

  it('end when they are stopped, and show no waiter, lock or time from before', async () => {
    const hold = await mutex.acquire();
    const waiting = theirs.acquire();
    expect(await point('zookeeper.lock.held')).to.equal(1);
    expect(await point('zookeeper.lock.waiting')).to.equal(1);
    expect(await ofServers('zookeeper.session.remaining')).to.be.above(0);
    await mutex.tryAcquire();
    telemetry.stop();
    expect(await ofServers('zookeeper.session.remaining')).to.be.NaN; // already in the first collection
    await hold.release();
    await (await waiting).release();
    expect(await point('zookeeper.lock.acquisitions', { outcome: 'acquired' })).to.equal(1);
    expect(await point('zookeeper.lock.acquisitions', { outcome: 'timed-out' })).to.equal(1);
    for (let collection = 1; collection <= 2; collection += 1) {
      expect(await point('zookeeper.lock.held')).to.equal(0);
      expect(await point('zookeeper.lock.waiting')).to.equal(0);
      expect(await ofServers('zookeeper.session.remaining')).to.be.NaN;
    }
  });

  it('of a second instrument go on after the first one was stopped', async () => {
    telemetry.stop();
    const stop = instrument({ meterProvider: telemetry.meterProvider, lockName: () => 'ours' });
    await mutex.withLock(async () => {
      for (let collection = 1; collection <= 2; collection += 1) expect(await point('zookeeper.lock.held')).to.equal(1);
    });
    stop();
  });
});

describe('instrument', () => {
  it('refuses bad options', () => {
    const call = (options: unknown) => () => instrument(options as object);
    expect(call({ meterProvider: {} })).to.throw(TypeError, 'meterProvider');
    expect(call({ tracerProvider: 5 })).to.throw(TypeError, 'tracerProvider');
    expect(call({ lockName: 'orders' })).to.throw(TypeError, 'lockName');
    expect(call({ name: 'orders' })).to.throw(TypeError, 'Unknown option `name`');
    expect(call(null)).to.throw(TypeError);
  });

  it('uses the global providers by default, which do nothing without an SDK', () => {
    instrument()();
  });
});
