import { hostname } from 'node:os';
import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  lockContext,
  LockTimeoutError,
  type Hold,
  type LockClient,
} from '../../src/index.ts';
import { sessionName } from '../../src/zookeeper/wire/wire-session.ts';
import { queueReaches } from '../../lab/queue.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { returnAll, semaphoreOf, setCount } from '../../lab/semaphores.ts';
import { rejection, until } from '../../lab/until.ts';
import { becomeQuiet } from './field/support.ts';

/** The time in which a waiter learns its place in the queue, and a test does its steps. */
const learnMs = 1_500;

describe('a timeout error', () => {
  const lab = labOfEachTest('timeouts', { server: 'own', proxy: true, client: { sessionTimeoutMs: 30_000 } });

  const late = async (acquiring: Promise<unknown>): Promise<LockTimeoutError> => {
    const error = await rejection(acquiring);
    if (!(error instanceof LockTimeoutError)) throw error;
    return error;
  };

  const inQueue = (count: number): Promise<void> =>
    until(`${count} participants are queued`, async () => (await lab.theirs.participants()).length === count);

  /** Another process that waits for the lock, at position `count` of the queue. */
  const contend = async (count: number): Promise<{ hold: Promise<Hold>; giveUp(): void }> => {
    const controller = new AbortController();
    const hold = new InterProcessMutex(await lab.connect({}, lab.connectString), lab.path).acquire({
      signal: controller.signal,
    });
    hold.catch(() => undefined);
    await inQueue(count);
    return { hold, giveUp: () => controller.abort() };
  };

  it('has the path, the time, the position, the holder, and the state of the connection', async () => {
    const before = Date.now();
    await using hold = await lab.theirs.acquire({ data: 'owner' });
    const error = await late(lab.mutex.acquire({ timeoutMs: learnMs }));
    expect(error).to.include({
      name: 'LockTimeoutError',
      code: 'ERR_LOCK_TIMEOUT',
      path: lab.path,
      timeoutMs: learnMs,
      reason: 'contention',
      position: 1,
      connectionState: 'connected',
    });
    expect(error.cause).to.equal(undefined);
    expect(error.holder).to.deep.include({
      path: hold.path,
      sessionId: sessionName(lab.other.session.id),
      host: hostname(),
      pid: process.pid,
      heldSince: undefined,
    });
    expect(error.holder?.queuedSince?.getTime()).to.be.within(before, before + 50);
  });

  it('costs no request, compared with an acquire without a timeout, and the znode is deleted', async () => {
    await using _hold = await lab.theirs.acquire();
    lab.proxy.clear();
    await late(lab.mutex.acquire({ timeoutMs: learnMs }));
    await lab.queueReaches(1);
    const sent = (await lab.requests()).filter(
      (op) => op !== 'removeWatches' && op !== 'getChildren2' && op !== 'sync',
    );
    // The waiter watches its own znode and its predecessor.
    expect(sent).to.deep.equal(['create2', 'getData', 'getData', 'delete']);
  });

  it('names no holder that may have gone since the last list', async () => {
    const first = await lab.theirs.acquire();
    expect((await late(lab.mutex.acquire({ timeoutMs: learnMs }))).holder?.path).to.equal(first.path);
    const others = [await contend(2), await contend(3)];
    const waiting = late(lab.mutex.acquire({ timeoutMs: learnMs }));
    await inQueue(4);
    await first.release();
    // The waiter watches its predecessor, and has not listed since the new holder's grant.
    expect(await waiting).to.include({ reason: 'contention', position: 3, holder: undefined });
    await Promise.all(others.map(async (acquiring) => (await acquiring.hold).release()));
  });

  it('has the position of the last list', async () => {
    const first = await lab.theirs.acquire();
    const second = await contend(2);
    const third = await contend(3);
    const waiting = late(lab.mutex.acquire({ timeoutMs: 2 * learnMs }));
    await inQueue(4);
    // The waiter waits for this client to leave, and then lists again.
    third.giveUp();
    expect(await waiting).to.have.property('position', 2);
    await first.release();
    await (await second.hold).release();
  });

  it('comes at once although no server answers, with the last error of the connection as cause', async () => {
    await lab.disconnect();
    const startedAt = lab.now();
    const error = await late(lab.mutex.acquire({ timeoutMs: 100 }));
    expect(lab.now() - startedAt).to.be.within(100, 101);
    expect(error).to.include({
      path: lab.path,
      timeoutMs: 100,
      reason: 'no-answer',
      position: undefined,
      holder: undefined,
      connectionState: 'suspended',
    });
    expect(error.cause).to.be.instanceOf(Error).with.property('message').that.contains('ECONNREFUSED');
  });

  it('is what a try tells the listeners of the client in an outage, where it resolves with undefined', async () => {
    const errors: unknown[] = [];
    lab.client.on('lock', (event) => errors.push('error' in event && event.error));
    await lab.disconnect();
    const semaphore = new InterProcessSemaphore(lab.client, `${lab.path}-semaphore`, { maxLeases: 1 });
    for (const lock of [lab.mutex, semaphore]) {
      expect(await lock.tryAcquire()).to.equal(undefined);
      const [error] = errors.splice(0);
      expect(error).to.be.instanceOf(LockTimeoutError);
      expect(error).to.include({ path: lock.path, reason: 'no-answer', connectionState: 'suspended' });
      expect((error as LockTimeoutError).cause).to.be.instanceOf(Error);
    }
  });

  it('reports an outage of more than a second, with the earlier position', async () => {
    await using _hold = await lab.theirs.acquire();
    const waiting = late(lab.mutex.acquire({ timeoutMs: 6_300 }));
    // The wait is so long that the outage is only a small part of it.
    const almost = late(lab.mutex.acquire({ timeoutMs: 4_600 }));
    await queueReaches(lab.theirs, 3);
    await almost;
    // The servers answer shortly before the outage.
    await lab.client.session.prove();
    await lab.disconnect();
    const error = await waiting;
    expect(error).to.include({ reason: 'no-answer', position: 1, connectionState: 'suspended' });
    expect(error.message).to.match(
      /no server has answered for [\d.]+ m?s; last: .*\. Before that, 1 participant was ahead in the queue\. Check that the servers run/,
    );
    await lab.proxy.accept();
  });

  it('has the reason no-answer if the server is frozen and the connection is open', async () => {
    lab.server.pause();
    try {
      const error = await late(lab.mutex.acquire({ timeoutMs: 100 }));
      expect(error).to.include({ reason: 'no-answer', connectionState: 'connected' });
      expect(error.cause)
        .to.be.instanceOf(Error)
        .with.property('message', `${lab.proxy.connectString} is connected, but does not answer`);
    } finally {
      lab.server.resume();
    }
    // The server now answers the earlier requests.
    await new InterProcessMutex(lab.client, lab.path).participants();
  });

  it('has the reason contention if a reply is missing only for a moment', async () => {
    await using _hold = await lab.theirs.acquire();
    const waiting = late(lab.mutex.acquire({ timeoutMs: learnMs }));
    // From then on no reply arrives, for less than a second and less than most of the wait.
    await late(lab.mutex.acquire({ timeoutMs: learnMs - 100 }));
    lab.proxy.silence();
    void lab.client.session.prove().catch(() => undefined);
    const error = await waiting;
    lab.proxy.speak();
    expect(error).to.include({ reason: 'contention', position: 1 });
  });

  it('has the reason contention if the connection is lost right before the timeout', async () => {
    await using _hold = await lab.theirs.acquire();
    const waiting = late(lab.mutex.acquire({ timeoutMs: 2 * learnMs }));
    // For less than a second.
    await late(lab.mutex.acquire({ timeoutMs: 2 * learnMs - 900 }));
    await lab.client.session.prove();
    await lab.disconnect();
    expect(await waiting).to.include({ reason: 'contention', position: 1, connectionState: 'suspended' });
    await lab.proxy.accept();
  });

  describe('of a semaphore names the leases of this process', () => {
    it('of those that are taken, and that others have the rest', async () => {
      const own = semaphoreOf(lab.client, lab.path, 3);
      const theirs = semaphoreOf(lab.other, lab.path, 3);
      const leases = [...(await own.acquireMany(2)), await theirs.acquire()];
      const error = await late(own.acquire({ timeoutMs: learnMs }));
      expect(error).to.include({ reason: 'contention' });
      expect(error.message)
        .to.match(/: this process has 2 of 3 leases; others hold the lock, or are ahead in the queue\. Wait longer/)
        .and.not.to.contain('forgotten');
      await returnAll(leases);
    });

    it('and names one that no job has, beside one of a running job', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 2);
      const job = semaphore.withLock(() => lab.sleep(3 * learnMs));
      await lab.sleep(learnMs);
      const forgotten = await semaphore.acquire();
      const error = await late(semaphore.acquire({ timeoutMs: learnMs }));
      expect(error).to.include({ reason: 'held-by-this-process' });
      expect(error.holder?.path).to.equal(forgotten.path);
      await forgotten.release();
      await job;
    });

    it('if it can have no more itself', async () => {
      const semaphore = semaphoreOf(lab.client, lab.path, 3);
      await using _lease = await semaphore.acquire();
      const error = await late(semaphore.acquireMany(3, { timeoutMs: learnMs }));
      expect(error).to.include({ reason: 'held-by-this-process' });
      expect(error.message).to.match(
        /: this process has 1 of 3 leases since \S+ with \S+, and wants 3 more\. Was `release\(\)` forgotten\?/,
      );
    });

    it('or that the shared count is too low for anyone', async () => {
      const count = `${lab.path}-count`;
      await lab.observer.create(lab.path.slice(0, lab.path.lastIndexOf('/')));
      await lab.observer.create(count);
      await setCount(lab.other, count, 0);
      const semaphore = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
      const none = await late(semaphore.acquire({ timeoutMs: learnMs }));
      expect(none).to.include({ reason: 'contention', holder: undefined });
      expect(none.message).to.contain(
        `: the shared count ${count} is 0, so the semaphore grants no lease. Raise the shared count`,
      );
      await setCount(lab.other, count, 2);
      const few = await late(semaphore.acquireMany(3, { timeoutMs: learnMs }));
      expect(few.message).to.contain(`${count} is 2, so the semaphore never grants 3 leases to one call`);
    });
  });

  it('says since when this process has held the lock, and with which znode', async () => {
    const before = Date.now();
    await using forgotten = await lab.mutex.acquire();
    const after = Date.now();
    const error = await late(new InterProcessMutex(lab.client, lab.path).acquire({ timeoutMs: learnMs }));
    expect(error).to.include({ reason: 'held-by-this-process', position: 1, connectionState: 'connected' });
    expect(error.holder).to.deep.include({
      path: forgotten.path,
      sessionId: sessionName(lab.client.session.id),
      host: hostname(),
      pid: process.pid,
      queuedSince: undefined,
    });
    expect(error.holder?.heldSince?.getTime()).to.be.within(before, after);
  });

  it('ignores a lock of this process whose path only has the same beginning, or lies below', async () => {
    await using _hold = await lab.theirs.acquire();
    await using _alike = await new InterProcessMutex(lab.client, `${lab.path}x`).acquire();
    expect(await late(lab.mutex.acquire({ timeoutMs: learnMs }))).to.have.property('reason', 'contention');
  });

  it('reports a function around the call that holds the lock, even in a bound handler', async () => {
    await lab.mutex.withLock(async (hold) => {
      const nested = await lockContext.run(() => late(lab.mutex.acquire({ timeoutMs: learnMs })));
      expect(nested).to.have.property('reason', 'held-by-this-flow');
      expect(nested.holder?.path).to.equal(hold.path);
      // The caller does not await the result of a handler, so the wait may succeed.
      expect(await lockContext.bind(() => late(lab.mutex.acquire({ timeoutMs: learnMs })))()).to.have.property(
        'reason',
        'contention',
      );
    });
  });

  it('names another job of this process that holds the lock as contention, and asks nobody to look for a bug', async () => {
    const semaphore = semaphoreOf(lab.client, `${lab.path}-semaphore`, 1);
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, `${lab.path}-pair`);
    for (const [holder, waiter] of [
      [lab.mutex, new InterProcessMutex(lab.client, lab.path)],
      [semaphore, semaphore],
      [readLock, writeLock],
    ] as const) {
      const job = holder.withLock(() => lab.sleep(2 * learnMs));
      await lab.sleep(learnMs / 2);
      const error = await late(waiter.acquire({ timeoutMs: learnMs / 2 }));
      expect(error).to.include({ reason: 'contention' });
      expect(error.holder?.pid).to.equal(process.pid);
      expect(error.message)
        .to.match(/: .* since \S+ with \S+\. Wait longer/)
        .and.to.contain(
          holder === semaphore ? ': a job of this process, perhaps around this call,' : ': another job of this process',
        )
        .and.not.to.contain('forgotten');
      await job;
    }
    await lockContext.run(async () => {
      await using hold = await lab.mutex.acquire();
      const other = new InterProcessMutex(lab.client, lab.path);
      const error = await lockContext.bind(() => late(other.acquire({ timeoutMs: learnMs / 2 })))();
      expect(error).to.include({ reason: 'contention', holder: error.holder });
      expect(error.holder?.path).to.equal(hold.path);
    });
  });

  it('names a job that has re-entered the lock and goes on as contention, too', async () => {
    const job = lab.mutex.withLock(async () => {
      await lab.mutex.withLock(() => undefined);
      await lab.sleep(2 * learnMs);
    });
    await lab.sleep(learnMs / 2);
    const error = await late(new InterProcessMutex(lab.client, lab.path).acquire({ timeoutMs: learnMs / 2 }));
    expect(error).to.include({ reason: 'contention' });
    expect(error.message).to.contain(': another job of this process').and.not.to.contain('forgotten');
    await job;
  });

  it('of a sticky lock behind three other clients has the reason contention', async () => {
    const sticky = new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 0 } });
    const hold = await lab.theirs.acquire();
    const others = [await contend(2), await contend(3)];
    const calls = [learnMs, learnMs / 2].map((timeoutMs) => late(sticky.acquire({ timeoutMs })));
    for (const error of await Promise.all(calls)) expect(error).to.include({ reason: 'contention', holder: undefined });
    await hold.release();
    for (const other of others) await (await other.hold).release();
  });

  describe('at a round trip of 400 ms claims no other participant', function () {
    this.timeout(10_000_000);
    const [roundTripMs, sessionTimeoutMs] = [400, 8_000];
    let client: LockClient;
    beforeEach(async () => (client = await lab.connect({ sessionTimeoutMs })));

    it('before the answers about its place', async () => {
      const sticky = new InterProcessMutex(client, `${lab.path}-sticky`, { sticky: { idleMs: 0 } });
      const semaphore = semaphoreOf(client, `${lab.path}-semaphore`, 1);
      const pair = new InterProcessReadWriteLock(client, `${lab.path}-pair`);
      for (const lock of [new InterProcessMutex(client, lab.path), sticky, semaphore, pair.readLock]) {
        lab.proxy.roundTrip(roundTripMs);
        const error = await late(lock.acquire({ timeoutMs: 1.25 * roundTripMs }));
        expect(error).to.include({ reason: 'not-read', position: undefined, holder: undefined });
        expect(error.message).to.contain('so the lock may be free');
        lab.proxy.roundTrip(0);
      }
    });

    it('while its session is not proven, and says so', async () => {
      const mutex = new InterProcessMutex(client, lab.path);
      await (await mutex.acquire()).release();
      const reasons = new Set<string | undefined>();
      for (let roundTrips = 1.25; roundTrips < 3; roundTrips += 0.5) {
        await becomeQuiet(sessionTimeoutMs);
        lab.proxy.roundTrip(roundTripMs);
        const acquiring = mutex.acquire({ timeoutMs: roundTrips * roundTripMs });
        const error = await acquiring.then(
          (hold) => void hold.release(),
          (failure: unknown) => failure as LockTimeoutError,
        );
        if (error) expect(error).to.include({ position: undefined, holder: undefined });
        reasons.add(error?.reason);
        lab.proxy.roundTrip(0);
      }
      expect([...reasons])
        .to.include('not-proven')
        .and.not.to.include('contention');
    });

    it('after its predecessor has left, before the next list', async () => {
      const hold = await new InterProcessReadWriteLock(lab.other, lab.path).writeLock.acquire();
      const { readLock } = new InterProcessReadWriteLock(client, lab.path);
      const waiting = late(readLock.acquire({ timeoutMs: learnMs }));
      await lab.sleep(learnMs - 1.25 * roundTripMs);
      lab.proxy.roundTrip(roundTripMs);
      await hold.release();
      expect(await waiting).to.have.property('reason', 'not-read');
    });
  });

  it('reports a reader around the call that wants to write', async () => {
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, lab.path);
    await readLock.withLock(async () => {
      const error = await late(writeLock.acquire({ timeoutMs: learnMs }));
      expect(error).to.have.property('reason', 'held-by-this-flow');
      expect(error.message).to.contain('a reader is never granted the write lock');
    });
  });

  it('reports the silence of the servers to a writer that cannot downgrade, and not its own write lock', async () => {
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, lab.path);
    await writeLock.withLock(async () => {
      await lab.disconnect();
      expect(await late(readLock.acquire({ timeoutMs: 100 }))).to.have.property('reason', 'no-answer');
      await lab.proxy.accept();
    });
  });

  it('has a stack that leads to the waiting code', async () => {
    await using _hold = await lab.theirs.acquire();
    const caller = async (): Promise<void> => {
      await lab.mutex.acquire({ timeoutMs: learnMs });
    };
    expect((await rejection(caller())).stack).to.contain('timeouts.test.ts');
    expect((await rejection(lockContext.run(caller))).stack).to.contain('timeouts.test.ts');
  });

  it('shows nothing of a znode whose data contain no host', async () => {
    for (const data of [
      Buffer.from('two words'),
      Buffer.from('{"host":"a","pid":"7"}'),
      Buffer.alloc(1_000, 'a'),
      Buffer.alloc(0),
    ]) {
      const hold = await lab.theirs.acquire({ data });
      const error = await late(lab.mutex.acquire({ timeoutMs: learnMs }));
      expect(error.holder).to.include({ path: hold.path, host: undefined, pid: undefined });
      expect(error.message).to.contain(`held by session ${error.holder?.sessionId ?? ''}, in the queue since`);
      await hold.release();
    }
  });

  it('is suitable for a log: its fields are text and numbers in JSON', async () => {
    await using hold = await lab.theirs.acquire({ data: 'owner' });
    const { holder, position, reason } = await late(lab.mutex.acquire({ timeoutMs: learnMs }));
    const logged = JSON.parse(JSON.stringify({ holder, position, reason })) as { holder: Record<string, unknown> };
    expect(logged).to.deep.include({ position: 1, reason: 'contention' });
    expect(logged.holder)
      .to.include({ path: hold.path, pid: process.pid })
      .and.to.have.property('queuedSince')
      .that.matches(/^\d{4}-/);
  });
});
