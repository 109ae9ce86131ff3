import { expect } from 'chai';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  lockContext,
  type Hold,
  type LockClient,
} from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches, takeAway } from '../../lab/queue.ts';
import { until } from '../../lab/until.ts';
import { codeMs } from '../../lab/world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('the log of a client', () => {
  const lab = labOfEachTest('debug', { client: 'none' });
  let log: string[];
  beforeEach(() => (log = []));

  const connect = (debug?: boolean): Promise<LockClient> =>
    lab.connect({ debug, logger: { warn: (_details, message) => log.push(message) } });
  const locksOf = async (debug?: boolean): Promise<InterProcessMutex> =>
    new InterProcessMutex(await connect(debug), lab.path);

  /** Waits for longer than the time after which the client warns about a wait. */
  const afterTheWarningTime = (): Promise<void> => lab.sleep(2_300);

  async function forgetful(mutex: InterProcessMutex): Promise<Hold> {
    return mutex.acquire();
  }

  async function acquiresAgain(mutex: InterProcessMutex): Promise<Hold> {
    return mutex.acquire();
  }

  describe('about a wait for its own process', () => {
    it('has one line after a second, which names the option debug', async () => {
      const mutex = await locksOf();
      const hold = await mutex.acquire();
      const askedAt = lab.now();
      const waiting = mutex.acquire();
      await until('the wait is logged', () => log.length > 0);
      expect(lab.now() - askedAt).to.be.within(1_000, 1_050 + codeMs);
      expect(log[0]).to.match(
        new RegExp(
          `^An acquire\\(\\) of the lock ${lab.path} has waited for a second for a hold of this process\\. Both were called outside of every lock context`,
        ),
      );
      expect(log[0])
        .to.contain('use withLock or lockContext.run')
        .and.to.contain('With the option debug of LockClient.connect');
      const another = mutex.acquire();
      await afterTheWarningTime();
      expect(log).to.have.length(1);
      await hold.release();
      for (const next of [waiting, another]) await (await next).release();
    });

    it('is a warning of the process if the client has no logger, because nobody else might notice', async () => {
      const warnings: string[] = [];
      const listen = ({ message }: Error): void => void warnings.push(message);
      process.on('warning', listen);
      try {
        const mutex = new InterProcessMutex(await lab.connect(), lab.path);
        const hold = await mutex.acquire();
        const waiting = mutex.acquire();
        await afterTheWarningTime();
        await hold.release();
        await (await waiting).release();
      } finally {
        process.off('warning', listen);
      }
      expect(warnings).to.have.length(1);
      expect(warnings[0]).to.contain(`An acquire() of the lock ${lab.path} has waited for a second`);
    });

    it('has no line about a hold that was lost and is not released', async () => {
      const mutex = await locksOf();
      const hold = await mutex.acquire();
      await takeAway(hold, lab.observer);
      await using theirs = await (await locksOf()).acquire();
      const waiting = mutex.acquire();
      await afterTheWarningTime();
      expect(log).to.deep.equal([]);
      await theirs.release();
      await (await waiting).release();
      await hold.release();
    });

    it('names both places with `debug`', async () => {
      const mutex = await locksOf(true);
      const hold = await forgetful(mutex);
      const waiting = acquiresAgain(mutex);
      await until('the wait is logged', () => log.length > 0);
      expect(log[0]).to.match(
        /The hold was acquired at forgetful \(.*debug\.test\.ts:\d+:\d+\).*; the acquire\(\) that waits was called at acquiresAgain \(.*debug\.test\.ts:\d+:\d+\)/,
      );
      expect(log[0]).not.to.contain('/src/');
      await hold.release();
      await (await waiting).release();
    });

    it('names the call that waits, and not one of the other lock of a pair', async () => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(await connect(true), lab.path);
      const hold = await writeLock.acquire();
      const reading = readLock.acquire({ timeoutMs: 10_000 });
      const writing = acquiresAgain(writeLock);
      await until('the wait is logged', () => log.length > 0);
      expect(log[0]).to.contain('the acquire() that waits was called at acquiresAgain (');
      await hold.release();
      await (await reading).release();
      await (await writing).release();
      expect(log).to.have.length(1);
    });

    it('has no line for calls with a timeout or a signal, however often they are repeated', async () => {
      const mutex = await locksOf();
      const hold = await mutex.acquire();
      const controller = new AbortController();
      const waiting = [mutex.acquire({ timeoutMs: 10_000 }), mutex.acquire({ signal: controller.signal })];
      for (let tries = 0; tries < 23; tries += 1) expect(await mutex.tryAcquire(100)).to.equal(undefined);
      expect(log).to.deep.equal([]);
      await hold.release();
      for (const next of waiting) await (await next).release();
    });

    it('also has a line for two objects, and for a reader behind a writer', async () => {
      const client = await connect();
      const mutex = new InterProcessMutex(client, lab.path);
      const rw = new InterProcessReadWriteLock(client, `${lab.path}-rw`);
      const holds = [await mutex.acquire(), await rw.writeLock.acquire()];
      const waiting = [new InterProcessMutex(client, lab.path).acquire(), rw.readLock.acquire()];
      await until('both waits are logged', () => log.length === 2);
      expect(log.map((line) => / lock (\S+) has/.exec(line)?.[1])).to.have.members([lab.path, rw.path]);
      for (const hold of holds) await hold.release();
      for (const next of waiting) await (await next).release();
    });

    it('has a line for the second of two simultaneous calls', async () => {
      const mutex = await locksOf();
      await (await mutex.acquire()).release();
      const both = [mutex.acquire(), mutex.acquire()];
      await until('the wait is logged', () => log.length === 1);
      for (const next of both) await (await next).release();
    });

    it('has no line for other processes, short waits, or owners in contexts', async () => {
      const client = await connect();
      const mutex = new InterProcessMutex(client, lab.path);
      const theirs = new InterProcessMutex(await lab.connect(), lab.path);
      const busy = new InterProcessMutex(client, `${lab.path}-busy`);
      const inContext = new InterProcessMutex(client, `${lab.path}-context`);
      const readers = new InterProcessReadWriteLock(client, `${lab.path}-readers`);
      const hold = await theirs.acquire();
      const reading = [await readers.readLock.acquire(), await readers.readLock.acquire()];
      const waiting = mutex.acquire();
      const ended = { is: false };
      const passesOn = (async () => {
        while (!ended.is) {
          const [one, next] = [await busy.acquire(), busy.acquire()];
          await one.release();
          await (await next).release();
        }
      })();
      const owned = inContext.withLock(() => afterTheWarningTime());
      const behind = inContext.acquire();
      const held = await new InterProcessMutex(client, `${lab.path}-held`).acquire();
      const behindInContext = lockContext.run(() => new InterProcessMutex(client, `${lab.path}-held`).acquire());
      await owned;
      expect(log).to.deep.equal([]);
      ended.is = true;
      await passesOn;
      for (const one of [hold, held, ...reading]) await one.release();
      for (const next of [waiting, behind, behindInContext]) await (await next).release();
    });
  });

  describe('about an unreleased hold', () => {
    const leak = async (mutex: InterProcessMutex): Promise<void> => {
      await forgetful(mutex);
    };
    const collected = (): Promise<void> =>
      until('the leak is logged', async () => {
        // The microtasks of the acquire keep the hold for a while.
        await new Promise((resolve) => setImmediate(resolve));
        collectGarbage();
        return log.length > 0;
      });

    it('names the caller of the acquire with `debug`', async () => {
      const mutex = await locksOf(true);
      await leak(mutex);
      await collected();
      expect(log).to.have.length(1);
      expect(log[0]).to.match(
        new RegExp(
          `^A hold of the lock ${lab.path} was garbage-collected without a release: .*It was acquired at forgetful \\(.*debug\\.test\\.ts:\\d+:\\d+\\)`,
        ),
      );
      expect(await mutex.release()).to.equal('released');
    });

    it('names the caller of a semaphore’s acquire', async () => {
      const semaphore = new InterProcessSemaphore(await connect(true), lab.path, { maxLeases: 2 });
      await (async function takesALease() {
        await semaphore.acquire();
      })();
      await collected();
      expect(log[0]).to.match(/It was acquired at takesALease \(/);
    });

    it('has no line for released or lost holds, for a withLock, or without `debug`', async () => {
      const [mutex, quiet] = [await locksOf(true), await connect()];
      const { opened, open } = (() => {
        let open = (): void => undefined;
        return { opened: new Promise<void>((resolve) => (open = resolve)), open: () => open() };
      })();
      const weak: WeakRef<Hold>[] = [];
      await (async () => {
        const released = await mutex.acquire();
        weak.push(new WeakRef(released));
        await released.release();
        const lost = await mutex.acquire();
        weak.push(new WeakRef(lost));
        await lab.observer.remove(lost.path);
        await until('the hold is lost', () => !lost.isValid);
      })();
      await mutex.release();
      const job = mutex.withLock(() => opened);
      const other = new InterProcessMutex(quiet, `${lab.path}-2`);
      await leak(other);
      await until('the others are collected', async () => {
        await new Promise((resolve) => setImmediate(resolve));
        collectGarbage();
        return weak.every((one) => one.deref() === undefined);
      });
      // The finalizers run after the collection.
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      expect(log).to.deep.equal([]);
      open();
      await job;
    });

    it('leaves the methods and events of a hold unchanged', async () => {
      const mutex = await locksOf(true);
      const emitted: unknown[] = [];
      mutex.on('acquired', ({ hold }) => emitted.push(hold)).on('released', ({ hold }) => emitted.push(hold));
      await using plain = await new InterProcessMutex(await connect(), `${lab.path}-2`).acquire();
      const hold = await mutex.acquire({ leaseMs: 60_000 });
      expect(hold).to.be.instanceOf(plain.constructor);
      expect(hold.constructor).to.equal(plain.constructor);
      expect(hold.isValid).to.equal(true);
      expect(hold.signal.aborted).to.equal(false);
      hold.renew(30_000);
      expect(hold.remainingMs).to.be.within(1, 30_000);
      hold.assertValid();
      const { release } = hold;
      expect(await release()).to.equal('released');
      await hold[Symbol.asyncDispose]();
      expect(emitted[0]).to.equal(hold);
      expect(emitted).to.have.length(2);
    });
  });

  it('has no line for a service whose owners queue up outside of contexts and release quickly', async () => {
    const mutex = await locksOf();
    const hold = await mutex.acquire();
    const waiting = Array.from({ length: 20 }, () => mutex.acquire().then((next) => next.release()));
    await queueReaches(mutex, 21);
    await hold.release();
    await Promise.all(waiting);
    expect(log).to.deep.equal([]);
  });
});
