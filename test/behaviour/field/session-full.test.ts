import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  LeaderElection,
  lockContext,
  type Hold,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection, until } from '../../../lab/until.ts';

const mostBytes = 2_000_000;
const code = 'ERR_LOCK_SESSION_FULL';

describe('ZOOKEEPER-4306: znodes whose paths would make the end of their session unreadable', function () {
  this.timeout(300_000);
  const lab = labOfEachTest('full', { server: 'own', client: { sessionTimeoutMs: 30_000 } });
  /** As long as a server accepts, so that few znodes are many bytes. */
  const longPath = (name: string): string => `${lab.path}/${name.padEnd(8_000, '-')}`;

  const fill = async (): Promise<Hold[]> => {
    const holds: Hold[] = [];
    for (let bytes = 0; bytes + 2 * 8_100 < mostBytes;) {
      const hold = await lab.client.lock(longPath(`${holds.length}`));
      holds.push(hold);
      bytes += hold.path.length + 4;
    }
    return holds;
  };
  const bytesOnServers = async (): Promise<number> => {
    const paths = (await lab.server.command('dump')).split('\n').filter((line) => line.includes(lab.path));
    return paths.reduce((bytes, line) => bytes + line.trim().length + 4, 0);
  };

  it('are not created: the call rejects, leaves nothing, and there is room again after a release', async () => {
    const holds = await fill();
    await using last = await lab.client.lock(longPath('last'));
    const before = await bytesOnServers();
    expect(before).to.be.within(mostBytes - 8_100, mostBytes);
    const path = longPath('refused');
    const calls: (() => Promise<unknown>)[] = [
      () => lab.client.lock(path),
      () => new InterProcessMutex(lab.client, path).tryAcquire(),
      () => lab.client.withLock([path, `${lab.path}-other`], () => undefined),
      () => new InterProcessSemaphore(lab.client, path, { maxLeases: 1 }).acquire(),
      () => new InterProcessMutex(lab.client, path, { sticky: { idleMs: 1_000 } }).acquire(),
      () => new InterProcessMutex(lab.client, path, { weights: {} }).acquire(),
      () => new LeaderElection(lab.client, path).lead(() => undefined, { requeue: true }),
    ];
    for (const call of calls) expect(await rejection(call())).to.have.property('code', code);
    expect(await bytesOnServers()).to.equal(before);
    expect([last, ...holds].every(({ isValid }) => isValid)).to.equal(true);
    await holds[0]?.release();
    await (await lab.client.lock(path)).release();
    for (const hold of holds) await hold.release();
    expect(lab.client.session.pathBytes).to.equal(last.path.length + 4);
  });

  it('are not created for the second part of a call, either: the first part goes', async () => {
    await fill();
    const before = [await bytesOnServers(), lab.client.session.pathBytes];
    const calls: (() => Promise<unknown>)[] = [
      () => lab.client.withLock([longPath('first'), longPath('second')], () => undefined),
      () => new InterProcessSemaphore(lab.client, longPath('leases'), { maxLeases: 1 }).acquire(),
    ];
    for (const call of calls) {
      const created = lab.client.session.writesAnswered;
      expect(await rejection(call())).to.have.property('code', code);
      expect(lab.client.session.writesAnswered).to.be.above(created);
      await until('the first part is gone', () => lab.client.session.pathBytes === before[1]);
      expect(await bytesOnServers()).to.equal(before[0]);
    }
  });

  it('are not created by a downgrade, either: the write lock stays', async () => {
    await fill();
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, longPath('pair'));
    await lockContext.run(async () => {
      const writing = await writeLock.acquire();
      expect(await rejection(readLock.acquire())).to.have.property('code', code);
      expect(writing.isValid).to.equal(true);
    });
  });

  it('count until their session has ended, and not in the next one', async () => {
    await fill();
    await lab.observer.endSession(lab.client);
    await lab.client.withLock(longPath('next'), () => undefined);
    expect(lab.client.session.pathBytes).to.equal(0);
  });
});
