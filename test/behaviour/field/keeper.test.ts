import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  LeaderElection,
  LockLostError,
} from '../../../src/index.ts';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { whenNoNode } from '../../../src/zookeeper/wire/zookeeper-error.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection } from '../../../lab/until.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { awaitedLater, becomeQuiet, sessionsOn, statesOf } from './support.ts';

/** The shortest that it grants. */
const sessionTimeoutMs = 10_000;
const limit = { timeoutMs: 4 * sessionTimeoutMs };

for (const keeper of ['create2', 'containers'] as const)
  describe(`an imitation of ClickHouse Keeper (${keeper})`, function () {
    this.timeout(400_000);
    const lab = labOfEachTest('keeper', { server: { keeper }, proxy: true, client: { sessionTimeoutMs: 4_000 } });

    it('grants sessions of 10 s at least', () => {
      expect(lab.client.health().timeoutMs).to.equal(sessionTimeoutMs);
    });

    it('gets no request with the number that stands for the end of a session', async () => {
      using probe = await ConnectionProbe.connect([lab.proxy.port], { firstXid: 2 ** 31 - 2 });
      for (const path of ['/', '/keeper']) await probe.send(exists(path)).catch(whenNoNode(undefined));
      expect(probe.connection.lastError).to.equal(undefined);
    });

    it('serves a mutex: two clients take turns, in their order', async () => {
      const order: string[] = [];
      const held = await lab.mutex.acquire(limit);
      const theirs = awaitedLater(lab.theirs.withLock(() => order.push('theirs'), limit));
      await lab.queueReaches(2);
      const ours = awaitedLater(lab.mutex.withLock(() => order.push('ours'), limit));
      await lab.queueReaches(3);
      await held.release();
      await Promise.all([theirs, ours]);
      expect(order).to.deep.equal(['theirs', 'ours']);
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

    it('serves a mutex: a holder keeps it for a minute, and after an idle time it is acquired again', async () => {
      const hold = await lab.mutex.acquire(limit);
      await lab.sleep(60_000);
      expect(hold.isValid).to.equal(true);
      expect(await hold.release()).to.equal('released');
      await becomeQuiet(sessionTimeoutMs);
      await lab.mutex.withLock((again) => expect(again.isValid).to.equal(true), limit);
    });

    it('serves a mutex: a cut connection costs the hold, and never gives two owners', async () => {
      const hold = await lab.mutex.acquire(limit);
      const next = awaitedLater(lab.theirs.acquire(limit));
      await lab.queueReaches(2);
      lab.proxy.cut();
      expect(await aborted(hold.signal)).to.be.instanceOf(LockLostError);
      const theirs = await next;
      expect(hold.isValid).to.equal(false);
      const again = awaitedLater(lab.mutex.acquire(limit));
      await lab.sleep(1_000);
      await theirs.release();
      await (await again).release();
    });

    it('serves a read/write lock: readers share, a writer waits for both', async () => {
      const ours = new InterProcessReadWriteLock(lab.client, lab.path);
      const theirs = new InterProcessReadWriteLock(lab.other, lab.path);
      const readers = [await ours.readLock.acquire(limit), await theirs.readLock.acquire(limit)];
      let isWriting = false;
      const writing = awaitedLater(
        theirs.writeLock.acquire(limit).then((hold) => {
          isWriting = true;
          return hold.release();
        }),
      );
      await lab.queueReaches(3);
      await readers[0]?.release();
      await lab.sleep(100);
      expect(isWriting).to.equal(false);
      await readers[1]?.release();
      await writing;
      await ours.writeLock.withLock(() => undefined, limit);
    });

    it('serves a semaphore: at most two owners', async () => {
      let inside = 0;
      let most = 0;
      await Promise.all(
        Array.from({ length: 8 }, async (_, index) => {
          const client = index % 2 === 0 ? lab.client : lab.other;
          await using _lease = await new InterProcessSemaphore(client, lab.path, { maxLeases: 2 }).acquire(limit);
          most = Math.max(most, (inside += 1));
          await lab.sleep(50);
          inside -= 1;
        }),
      );
      expect(most).to.equal(2);
    });

    it('serves an election: the second candidate leads when the first resigns, and after a cut', async () => {
      const ours = new LeaderElection(lab.client, lab.path, { id: 'ours' });
      const theirs = new LeaderElection(lab.other, lab.path, { id: 'theirs' });
      const term = await ours.campaign(limit);
      const next = awaitedLater(theirs.campaign(limit));
      await lab.queueReaches(2);
      await term.release();
      await (await next).release();
      const cut = await ours.campaign(limit);
      const after = awaitedLater(theirs.campaign(limit));
      await lab.queueReaches(2);
      lab.proxy.cut();
      await using _last = await after;
      expect(cut.isValid).to.equal(false);
      expect(await theirs.leader()).to.have.property('id', 'theirs');
    });

    it('ends a session that is closed, without an answer, and keeps no session', async () => {
      const { sessionId } = lab.client.health();
      const startedAt = lab.now();
      await lab.client.close({ timeoutMs: 5_000 });
      expect(lab.now() - startedAt).to.be.below(100);
      expect(await sessionsOn(lab)).to.not.include(sessionId);
    });
  });

describe('an imitation of a ClickHouse Keeper that does not know create2', function () {
  this.timeout(300_000);
  const lab = labOfEachTest('old-keeper', { server: { keeper: 'base' }, client: 'none' });

  it('refuses every lock, with an error that names the operation and the server', async () => {
    const client = await lab.connect({ sessionTimeoutMs });
    const states = statesOf(client);
    const error = await rejection(new InterProcessMutex(client, lab.path).acquire(limit));
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message)
      .to.match(/create2|createContainer/)
      .and.include(`127.0.0.1:${lab.server.port}`);
    expect(states.length).to.be.at.most(20);
  });
});
