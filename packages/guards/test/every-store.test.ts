import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  LockClient,
  LockError,
  forceRelease,
} from '../../../src/index.ts';
import { EmbeddedZooKeeper } from '../../testing/src/index.ts';
import { gate } from '../../../lab/gate.ts';
import { skipWithout } from '../../../lab/skip-without.ts';
import { aborted, rejection } from '../../../lab/until.ts';
import { StaleTokenError, type FencedHold, type FencedOptions } from '../src/exports.ts';
import { unaware } from './support/unaware.ts';
import { libraries, openDesk, startStore, type Desk, type Store, type Write } from './support/desk.ts';

for (const library of libraries) {
  describe(`a guard with ${library}`, function () {
    this.timeout(60_000);
    let store: Store | undefined;
    let desk: Desk;
    let zk: EmbeddedZooKeeper;
    let client: LockClient;
    let lock = '';
    /** The guard of Redis has no table, and repeats nothing. */
    const isRedis = library === 'ioredis' || library === 'redis';

    before(async function () {
      this.timeout(700_000); // a server or a library may have to be installed
      await skipWithout(this, async () => void (store = await startStore(library)));
      desk = await openDesk(library, store?.address ?? '');
      zk = await EmbeddedZooKeeper.start({ tickTimeMs: 100 });
      client = await LockClient.connect(zk.connectString, { sessionTimeoutMs: 2_000 });
    });

    after(async () => {
      if (!store) return;
      await client.close();
      await zk.stop();
      await desk[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    });

    beforeEach(async function () {
      lock = `/locks/${this.currentTest?.title.replace(/\W+/g, '-') ?? ''}`;
      await desk.clear();
    });

    it('commits what the holder wrote, resolves with the result of the job, and remembers the token', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      const result = await desk.fenced(hold, (write) => {
        const written = write('a');
        return written instanceof Promise ? written.then(() => 'done') : 'done';
      });
      expect(result).to.equal('done');
      expect(await desk.written()).to.deep.equal(['a']);
      expect(await desk.guardOf(lock)).to.equal(`${hold.fencingToken}:0`);
    });

    it('lets one hold write several times, one after the other and at the same time', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      await desk.fenced(hold, (write) => write('a'));
      await Promise.all(['b', 'c', 'd'].map((text) => desk.fenced(hold, (write) => write(text))));
      expect((await desk.written()).sort()).to.deep.equal(['a', 'b', 'c', 'd']);
    });

    it('refuses a holder that does not know that a later one has written, and stores nothing of its transaction', async () => {
      const early = await new InterProcessMutex(client, lock).acquire();
      const stale = unaware(early);
      await desk.fenced(early, (write) => write('early'));
      await forceRelease(client, early.path, { timeoutMs: 0 });
      await using late = await new InterProcessMutex(client, lock).acquire();
      await desk.fenced(late, (write) => write('late'));
      let hasRun = false;
      const error = await rejection(desk.fenced(stale, () => void (hasRun = true)));
      expect(hasRun).to.equal(false);
      expect(error).to.be.instanceOf(StaleTokenError).and.instanceOf(LockError);
      expect(error).to.include({
        code: 'ERR_LOCK_STALE_TOKEN',
        key: lock,
        fencingToken: early.fencingToken,
        grantNumber: 0n,
        storedToken: late.fencingToken,
        storedGrant: 0n,
      });
      expect(JSON.parse(JSON.stringify(error))).to.include({ storedToken: String(late.fencingToken) });
      expect(await desk.written()).to.deep.equal(['early', 'late']);
      expect(await desk.guardOf(lock)).to.equal(`${late.fencingToken}:0`);
    });

    it('compares the grant numbers of a sticky lock, whose grants share a token', async () => {
      const mutex = new InterProcessMutex(client, lock, { sticky: { idleMs: 5_000 } });
      const first = await mutex.acquire();
      await first.release();
      await using second = await mutex.acquire();
      expect(second.fencingToken).to.equal(first.fencingToken);
      await desk.fenced(second, (write) => write('second'));
      const error = await rejection(desk.fenced(unaware(first), (write) => write('first')));
      expect(error).to.include({ storedToken: second.fencingToken, storedGrant: second.grantNumber });
      expect(await desk.written()).to.deep.equal(['second']);
    });

    it('compares tokens that a number cannot represent', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      const big = 2n ** 62n;
      await desk.fenced(unaware(hold, big + 1n, 2n), (write) => write('first'));
      expect(await rejection(desk.fenced(unaware(hold, big, 3n), () => undefined))).to.include({
        storedToken: big + 1n,
      });
      expect(await rejection(desk.fenced(unaware(hold, big + 1n, 1n), () => undefined))).to.include({
        storedGrant: 2n,
      });
      await desk.fenced(unaware(hold, big + 1n, 3n), (write) => write('same token'));
      await desk.fenced(unaware(hold, big + 2n, 0n), (write) => write('second'));
      expect(await desk.written()).to.deep.equal(['first', 'same token', 'second']);
    });

    it('stores nothing if the job fails, and rejects with the error of the job', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      const failure = new Error('the job failed');
      const job = (write: (text: string) => unknown): void => {
        void write('a');
        throw failure;
      };
      expect(await rejection(desk.fenced(hold, job))).to.equal(failure);
      const silent = (): never => {
        throw undefined; // oxlint-disable-line typescript/only-throw-error
      };
      expect(await rejection(desk.fenced(hold, silent))).to.equal(undefined);
      expect(await desk.written()).to.deep.equal([]);
      await desk.fenced(hold, (write) => write('b'));
      expect(await desk.written()).to.deep.equal(['b']);
    });

    if (library === 'pg' || library === 'mysql2' || isRedis)
      it('sends nothing more of a job that goes on after `fenced` has settled', async () => {
        await using hold = await new InterProcessMutex(client, lock).acquire();
        for (const ends of [() => undefined, () => Promise.reject(new Error('the job failed'))]) {
          const settled = gate();
          let late: Promise<Error> | undefined;
          const job = async (write: Write): Promise<void> => {
            const goesOn = async (): Promise<void> => {
              await write('in time');
              await settled.opened;
              await write('late');
            };
            late = rejection(goesOn());
            await ends();
          };
          await desk.fenced(hold, job).catch(() => undefined);
          settled.open();
          expect(await late).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
        }
        expect(await desk.written()).to.deep.equal(['in time']);
      });

    if (!isRedis)
      it('refuses a call in its job that would wait for its row, but not work that goes on after it', async () => {
        await using hold = await new InterProcessMutex(client, lock).acquire();
        const settled = gate();
        let inner: Promise<Error> | undefined;
        let later: Promise<void> | undefined;
        await desk.fenced(hold, (write) => {
          inner = rejection(desk.fenced(hold, () => expect.fail('the job ran')));
          later = settled.opened.then(() => desk.fenced(hold, (again) => again('later')));
          return write('outer');
        });
        const error = await inner;
        expect(error).to.be.instanceOf(TypeError);
        expect(error?.message).to.contain(`another \`fenced\` of ${lock}`);
        settled.open();
        await later;
        expect(await desk.written()).to.deep.equal(['outer', 'later']);
      });

    it('judges the hold again right before the commit', async () => {
      const hold = await new InterProcessMutex(client, lock).acquire();
      const error = await rejection(
        desk.fenced(hold, (write) => {
          const written = write('a');
          void hold.release();
          return written;
        }),
      );
      expect(error).to.include({ code: 'ERR_LOCK_NOT_OWNED' });
      expect(await desk.written()).to.deep.equal([]);
    });

    it('accepts a write lock, a semaphore of one lease that is a mutex, and a term, whose tokens are fences', async () => {
      const holds = [
        await new InterProcessReadWriteLock(client, `${lock}/rw`).writeLock.acquire(),
        await new InterProcessSemaphoreMutex(client, `${lock}/one`).acquire(),
        await new LeaderElection(client, `${lock}/leader`).campaign(),
      ];
      for (const hold of holds) {
        await desk.fenced(hold, (write) => write('a'));
        await hold.release();
      }
      expect(await desk.written()).to.deep.equal(['a', 'a', 'a']);
    });

    it('refuses readers and leases with the reason, before anything is sent', async () => {
      const locks = [
        new InterProcessReadWriteLock(client, `${lock}/rw`).readLock,
        new InterProcessSemaphore(client, `${lock}/s`, { maxLeases: 1 }),
      ];
      for (const each of locks) {
        await using hold = await each.acquire();
        const error = await rejection(desk.fenced(hold, () => expect.fail('the job ran')));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.match(/is no fence\. Several readers .* are valid at once/);
      }
    });

    it('refuses a hold that was released or lost, before anything is sent', async () => {
      const hold = await new InterProcessMutex(client, lock).acquire();
      await hold.release();
      expect(await rejection(desk.fenced(hold, () => expect.fail('the job ran')))).to.include({
        code: 'ERR_LOCK_NOT_OWNED',
      });
      const lost = await new InterProcessMutex(client, lock).acquire();
      await forceRelease(client, lost.path, { timeoutMs: 0 });
      await aborted(lost.signal);
      expect(await rejection(desk.fenced(lost, () => expect.fail('the job ran')))).to.include({
        code: 'ERR_LOCK_LOST',
      });
    });

    it('refuses a value that is no hold, a bad key and bad retries', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      for (const [bad, text] of [
        [undefined, 'For a multi-lock'],
        [{ fencingToken: 1 }, 'For a multi-lock'],
        [Promise.resolve(hold), 'got a Promise: await it'],
      ] as const)
        expect((await rejection(desk.fenced(bad as unknown as FencedHold, () => undefined))).message)
          .to.include('a Hold of')
          .and.to.include(text);
      for (const options of [{ key: '' }, { key: 'a'.repeat(513) }, { retries: -1 }, { table: 'a; DROP TABLE b' }])
        expect(await rejection(desk.fenced(hold, () => undefined, options))).to.be.instanceOf(
          'key' in options || !isRedis ? RangeError : TypeError,
        );
    });

    it('refuses options that are unknown or of another type, before anything is sent', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      const bad = {
        'Unknown option `tabel`': { tabel: 'x' },
        'Expected `key` to be a string, got 5': { key: 5 },
        ...(!isRedis && {
          "Expected `retries` to be a whole number ≥ 0, got '5'": { retries: '5' },
          "a name such as lock_fences or app.lock_fences, got [ 'a' ]": { table: ['a'] },
        }),
      };
      for (const [text, options] of Object.entries(bad)) {
        const error = await rejection(desk.fenced(hold, () => expect.fail('the job ran'), options as FencedOptions));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.include(text);
      }
      expect(await desk.written()).to.deep.equal([]);
    });

    it('guards two locks with two keys', async () => {
      await using hold = await new InterProcessMutex(client, lock).acquire();
      await desk.fenced(unaware(hold, 9n), (write) => write('a'), { key: 'one' });
      await desk.fenced(unaware(hold, 8n), (write) => write('b'), { key: 'two' });
      expect(await rejection(desk.fenced(unaware(hold, 8n), () => undefined, { key: 'one' }))).to.include({
        key: 'one',
        storedToken: 9n,
      });
    });
  });
}
