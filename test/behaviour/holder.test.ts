import { hostname } from 'node:os';
import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  lockContext,
  lockKey,
  type Participant,
} from '../../src/index.ts';
import { localAddress } from '../../src/internals/znode/znode-data.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { once, sent } from '../../lab/proxy/frame-matches.ts';
import { rejection, until } from '../../lab/until.ts';
import { queueReaches } from '../../lab/queue.ts';

describe('the holder of a lock', () => {
  const lab = labOfEachTest('holder');

  const locks = (): { mutex: InterProcessMutex; theirs: InterProcessMutex } => ({
    mutex: new InterProcessMutex(lab.client, lab.path),
    theirs: new InterProcessMutex(lab.other, lab.path),
  });
  const shownTo = async (mutex: InterProcessMutex): Promise<Participant> => (await mutex.holder()) as Participant;

  it('is undefined before the first acquire and after the last release', async () => {
    const { mutex, theirs } = locks();
    expect([await theirs.holder(), await theirs.isLocked()]).to.deep.equal([undefined, false]);
    await (await mutex.acquire()).release();
    expect([await theirs.holder(), await theirs.isLocked()]).to.deep.equal([undefined, false]);
  });

  it('is an error, not undefined, if a lock of another kind may be held on the path', async () => {
    const { mutex } = locks();
    const hold = await new InterProcessReadWriteLock(lab.other, lab.path).writeLock.acquire();
    for (const asked of [mutex.holder(), mutex.isLocked()])
      expect((await rejection(asked)).code).to.equal('ERR_LOCK_FOREIGN_NODE');
    await hold.release();
    expect(await mutex.isLocked()).to.equal(false);
  });

  it('is not reported as idle because of its data', async () => {
    const { mutex, theirs } = locks();
    const data = Buffer.from('busy\0idle');
    await using _hold = await mutex.acquire({ data });
    expect(await theirs.isLocked()).to.equal(true);
    expect((await shownTo(theirs)).data.equals(data)).to.equal(true);
  });

  it('is the first participant of the queue, for any client that asks', async () => {
    const { mutex, theirs } = locks();
    const hold = await mutex.acquire();
    const waiting = theirs.acquire();
    await queueReaches(mutex, 2);
    for (const one of [mutex, theirs]) {
      expect((await shownTo(one)).path).to.equal(hold.path);
      expect(await one.isLocked()).to.equal(true);
    }
    await hold.release();
    expect((await shownTo(mutex)).path).to.equal((await waiting).path);
    await (await waiting).release();
  });

  it('has its process, host and session in hold.owner, and in participants() if its data has them', async () => {
    const { mutex, theirs } = locks();
    await using hold = await mutex.acquire({ data: 'owner' });
    const { sessionId } = await shownTo(theirs);
    expect(hold.owner).to.deep.equal({ host: hostname(), pid: process.pid, sessionId });
    expect((await shownTo(theirs)).owner).to.deep.equal(hold.owner);
  });

  it('has the data of its acquire, or the host’s address by default', async () => {
    const { mutex, theirs } = locks();
    const data = Buffer.from('order 42');
    const acquiring = mutex.acquire({ data });
    data.fill(0);
    const hold = await acquiring;
    const waiting = [theirs.acquire({ data: Buffer.from('order 43') }), theirs.tryAcquire({ timeoutMs: 10_000 })];
    await queueReaches(mutex, 3);
    const texts = (await theirs.participants()).map(({ data: theirData, owner }) => [theirData.toString(), owner]);
    expect(texts).to.deep.equal([
      ['order 42', undefined],
      ['order 43', undefined],
      [localAddress(), undefined],
    ]);
    await hold.release();
    for (const next of waiting) await (await next)?.release();
  });

  it('gets no revocation request from its own data that look like one', async () => {
    const { mutex } = locks();
    const asked: unknown[] = [];
    mutex.makeRevocable((hold) => asked.push(hold));
    await using _hold = await mutex.acquire({ data: Buffer.from('__REVOKE__') });
    expect((await shownTo(mutex)).data.toString()).to.equal('__REVOKE__');
    await lab.client.session.prove();
    expect(asked).to.deep.equal([]);
  });

  it('is a writer or a reader, each reported by its own lock', async () => {
    const ours = new InterProcessReadWriteLock(lab.client, lab.path);
    const theirs = new InterProcessReadWriteLock(lab.other, lab.path);
    const reading = await ours.readLock.acquire();
    const writing = theirs.writeLock.acquire();
    await queueReaches(ours.writeLock, 1);
    const behind = ours.readLock.acquire();
    await queueReaches(ours.readLock, 2);
    expect((await shownTo(theirs.readLock)).path).to.equal(reading.path);
    expect([await theirs.writeLock.isLocked(), await ours.readLock.isLocked()]).to.deep.equal([false, true]);
    await reading.release();
    const hold = await writing;
    expect((await shownTo(ours.writeLock)).path).to.equal(hold.path);
    expect(await ours.readLock.isLocked()).to.equal(false);
    await hold.release();
    await (await behind).release();
  });

  it('is a writer that downgrades, and then its reader alone', async () => {
    const ours = new InterProcessReadWriteLock(lab.client, lab.path);
    const theirs = new InterProcessReadWriteLock(lab.other, lab.path);
    await lockContext.run(async () => {
      const writing = await ours.writeLock.acquire();
      const behind = theirs.writeLock.acquire();
      await queueReaches(ours.writeLock, 2);
      const reading = await ours.readLock.acquire();
      expect((await shownTo(theirs.readLock)).path).to.equal(reading.path);
      expect((await shownTo(theirs.writeLock)).path).to.equal(writing.path);
      expect([await theirs.readLock.isLocked(), await theirs.writeLock.isLocked()]).to.deep.equal([true, true]);
      await writing.release();
      expect((await shownTo(theirs.readLock)).path).to.equal(reading.path);
      expect([await theirs.readLock.isLocked(), await theirs.writeLock.isLocked()]).to.deep.equal([true, false]);
      await reading.release();
      await (await behind).release();
    });
  });

  it('is found even if another client leaves between the list and the read', async () => {
    const { mutex, theirs } = locks();
    const over = new AbortController();
    const churn = (async () => {
      while (!over.signal.aborted) await theirs.withLock(() => undefined);
    })();
    const hold = await mutex.acquire();
    for (let look = 0; look < 20; look += 1) expect((await shownTo(theirs)).path).to.equal(hold.path);
    await hold.release();
    for (let look = 0; look < 50; look += 1) await mutex.holder();
    over.abort();
    await churn;
    expect(await mutex.holder()).to.equal(undefined);
  });

  it('is idle if a sticky lock is kept and not used: then the lock is not locked', async () => {
    const sticky = new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 600_000 } });
    const { theirs } = locks();
    const hold = await sticky.acquire();
    expect([await theirs.isLocked(), (await shownTo(theirs)).isIdle]).to.deep.equal([true, false]);
    await hold.release();
    await until('the sticky lock is idle', async () => (await shownTo(theirs)).isIdle);
    expect(await theirs.isLocked()).to.equal(false);
  });

  it('may hold a lock for any key that lockKey accepts', async () => {
    for (const target of ['/', '..', '\0', '\ud800', 'ü'.repeat(1_000)]) {
      const mutex = new InterProcessMutex(lab.client, `${lab.path}/${lockKey('file', target)}`);
      await lockContext.run(async () => {
        await using hold = await mutex.acquire();
        expect((await shownTo(mutex)).path).to.equal(hold.path);
      });
    }
  });

  it('cannot be read through a closed client', async () => {
    const { mutex } = locks();
    await lab.client.close();
    for (const asked of [mutex.holder(), mutex.isLocked()]) {
      const error: unknown = await asked.catch((reason: unknown) => reason);
      expect(error).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    }
  });
});

describe('the holder of a lock that is handed on between the list and the read', () => {
  const lab = labOfEachTest('holder-left', { server: 'own', proxy: true });

  it('is the next one', async () => {
    const theirs = new InterProcessMutex(lab.other, lab.path);
    const first = await theirs.acquire();
    const waiting = theirs.acquire();
    await queueReaches(theirs, 2);
    await until('the holder watches its znode', () => lab.other.session.watches.has(first.path));
    once(
      lab.proxy,
      (frame) => sent('getData')(frame) && frame.path === first.path,
      () => ({ delayUntil: first.release() }),
    );
    const holder = await new InterProcessMutex(lab.client, lab.path).holder();
    await using next = await waiting;
    expect([first.isValid, holder?.path]).to.deep.equal([false, next.path]);
  });
});
