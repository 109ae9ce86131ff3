import { expect } from 'chai';
import {
  ForeignNodeError,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessSemaphoreMutex,
  lockContext,
  LockClient,
  LockLostError,
  LockTimeoutError,
  NotOwnedError,
  type Hold,
  type PartOfMultiLock,
} from '../../src/index.ts';
import { sessionName } from '../../src/zookeeper/wire/wire-session.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { crowd } from '../../lab/semaphores.ts';

describe('a multi-lock', () => {
  const lab = labOfEachTest('multi');

  const mutex = (name: string, client = lab.client): InterProcessMutex =>
    new InterProcessMutex(client, `${lab.path}-${name}`);
  const multi = (...names: string[]): InterProcessMultiLock<Hold> =>
    new InterProcessMultiLock(names.map((name) => mutex(name)));
  const queue = async (name: string): Promise<number> => (await lab.observer.children(`${lab.path}-${name}`)).length;
  const areFree = (...names: string[]): Promise<void> =>
    until(`${names.join()} are free`, async () =>
      (await Promise.all(names.map(queue))).every((length) => length === 0),
    );

  it('acquires in the order of the paths, whatever the given order, and releases in reverse', async () => {
    const calls: string[] = [];
    const spied = (name: string): PartOfMultiLock<Hold> => ({
      path: name,
      acquire: async (options) => {
        calls.push(`+${name}`);
        const hold = await mutex(name).acquire(options);
        const release = hold.release.bind(hold);
        hold.release = () => {
          calls.push(`-${name}`);
          return release();
        };
        return hold;
      },
    });
    const lock = new InterProcessMultiLock([spied('c'), spied('a'), spied('b')]);
    expect(lock.paths).to.deep.equal(['a', 'b', 'c']);
    const hold = await lock.acquire();
    expect(hold.holds.map(({ path }) => path.slice(lab.path.length, lab.path.length + 2))).to.deep.equal([
      '-a',
      '-b',
      '-c',
    ]);
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
    expect(calls).to.deep.equal(['+a', '+b', '+c', '-c', '-b', '-a']);
    await areFree('a', 'b', 'c');
  });

  it('cannot deadlock with a multi-lock that has the same locks in another order', async () => {
    const job = async (lock: InterProcessMultiLock): Promise<void> => {
      for (let round = 0; round < 10; round += 1) await (await lock.acquire({ timeoutMs: 10_000 })).release();
    };
    const theirs = new InterProcessMultiLock([mutex('b', lab.other), mutex('a', lab.other)]);
    await Promise.all([job(multi('a', 'b')), job(theirs), job(multi('b', 'a'))]);
    await areFree('a', 'b');
  });

  it('takes one path of two clients in the order of their servers, whatever order is given', async () => {
    const { connectString } = await sharedZooKeeper();
    const clients = await Promise.all(
      ['/b', '/a'].map((chroot) => LockClient.connect(`${connectString}${lab.path}${chroot}`)),
    );
    const [ofB, ofA] = clients.map((client) => new InterProcessMutex(client, '/account')) as [
      InterProcessMutex,
      InterProcessMutex,
    ];
    for (const locks of [
      [ofB, ofA],
      [ofA, ofB],
    ]) {
      const hold = await new InterProcessMultiLock(locks).acquire({ timeoutMs: 5_000 });
      expect(hold.holds.map(({ owner }) => owner.sessionId)).to.deep.equal(
        [ofA, ofB].map(({ host }) => sessionName(host.sessions.current.id)),
      );
      expect([await ofA.isLocked(), await ofB.isLocked()]).to.deep.equal([true, true]);
      await hold.release();
    }
    await Promise.all(clients.map((client) => client.close()));
  });

  it('has one deadline, names the lock for which it waited, and releases the others', async () => {
    const gates = [await mutex('a', lab.other).acquire(), await mutex('b', lab.other).acquire()];
    const leftMs: number[] = [];
    const spied = ['a', 'b'].map((name): PartOfMultiLock<Hold> => {
      const lock = mutex(name);
      return {
        path: lock.path,
        acquire(options) {
          leftMs.push(options?.timeoutMs ?? Infinity);
          return lock.acquire(options);
        },
      };
    });
    const waiting = rejection(new InterProcessMultiLock(spied).acquire({ timeoutMs: 1_500 }));
    await until('the multi-lock waits for the first lock', async () => (await queue('a')) === 2);
    await gates[0]?.release();
    const error = await waiting;
    const [first = 0, second = Infinity] = leftMs;
    expect(second).to.be.below(first);
    expect(error).to.be.instanceOf(LockTimeoutError);
    expect(error.message).to.match(
      new RegExp(`^The lock ${lab.path}-b was not acquired within 1500 ms: 1 participant is ahead in the queue`),
    );
    await areFree('a');
    await gates[1]?.release();
  });

  it('names the lock before, if that one used up the time', async () => {
    const late = (name: string, isValid: boolean): PartOfMultiLock => ({
      path: `${lab.path}-${name}`,
      acquire: async () => {
        await lab.sleep(40);
        return { isValid, signal: new AbortController().signal, release: () => Promise.resolve('released') };
      },
    });
    const error = await rejection(new InterProcessMultiLock([late('a', true), mutex('b')]).acquire({ timeoutMs: 20 }));
    expect(error)
      .to.be.instanceOf(LockTimeoutError)
      .and.to.include({ path: `${lab.path}-b`, reason: undefined });
    expect(error.message).to.equal(
      `The lock ${lab.path}-b was not acquired within 20 ms: the locks before it used up the time, and the call was waiting for ${lab.path}-a when the time was over. Give the call more time`,
    );
    expect(
      (await rejection(new InterProcessMultiLock([late('a', false)]).acquire({ timeoutMs: 20 }))).message,
    ).to.equal(
      `The lock ${lab.path}-a was not acquired within 20 ms: a lock was lost before all of them were held, and no time was left to start over. Give the call more time`,
    );
  });

  it('tries each lock once, and gets all or none', async () => {
    const gate = await mutex('b', lab.other).acquire();
    expect(await multi('a', 'b').tryAcquire()).to.equal(undefined);
    await areFree('a');
    await gate.release();
    const hold = await multi('a', 'b').tryAcquire();
    expect(hold?.isValid).to.equal(true);
    await hold?.release();
  });

  it('tries each lock once, and rejects with what is wrong with one of them', async () => {
    await mutex('b').withLock(() => undefined);
    await lab.observer.create(`${lab.path}-b/foreign`);
    expect(await rejection(multi('a', 'b').tryAcquire())).to.be.instanceOf(ForeignNodeError);
    await areFree('a');
  });

  it('rejects with the reason of a signal, and releases the locks that it holds', async () => {
    await using _gate = await mutex('b', lab.other).acquire();
    const controller = new AbortController();
    const waiting = rejection(multi('a', 'b').acquire({ signal: controller.signal }));
    await until('the multi-lock waits for the second lock', async () => (await queue('b')) === 2);
    controller.abort(new Error('enough'));
    expect((await waiting).message).to.equal('enough');
    await areFree('a');
  });

  it('is lost with any of its holds: the signal aborts, and the others are still released', async () => {
    const lock = multi('a', 'b');
    const hold = await lock.acquire();
    const loss = aborted(hold.signal);
    await lab.observer.remove(hold.holds[0]?.path ?? '');
    expect(await loss)
      .to.be.instanceOf(LockLostError)
      .with.property('path', hold.holds[0]?.path);
    expect([hold.isValid, lock.isAcquiredInThisProcess]).to.deep.equal([false, false]);
    expect(hold.holds.map(({ isValid }) => isValid)).to.deep.equal([false, true]);
    expect(() => hold.assertValid()).to.throw(LockLostError);
    expect(await hold.release()).to.equal('lost');
    await areFree('a', 'b');
  });

  it('keeps the loss that it has told, also if a lock before that one is lost later', async () => {
    const hold = await new InterProcessMultiLock([mutex('a'), mutex('b')]).acquire();
    const [first, second] = hold.holds;
    const loss = aborted(hold.signal);
    await lab.observer.remove(second?.path ?? '');
    const reason = await loss;
    await lab.observer.remove(first?.path ?? '');
    if (first) await aborted(first.signal);
    expect(() => hold.assertValid())
      .to.throw()
      .that.equals(reason);
    await hold.release();
  });

  it('is lost, and not released, if one of its holds was released before another was lost', async () => {
    await using hold = await multi('a', 'b').acquire();
    const [first, second] = hold.holds;
    await first?.release();
    expect(() => hold.assertValid()).to.throw(NotOwnedError);
    await lab.observer.remove(second?.path ?? '');
    await aborted(second?.signal ?? hold.signal);
    expect(() => hold.assertValid()).to.throw(LockLostError);
  });

  it('is lost in the same step for a listener of one of its holds', async () => {
    await using hold = await multi('a', 'b').acquire();
    const [first] = hold.holds;
    const seen = new Promise((resolve) => {
      // Before the signal of the multi-lock listens to its holds.
      first?.signal.addEventListener('abort', () => resolve(hold.signal.aborted), { once: true });
    });
    expect(hold.signal.aborted).to.equal(false);
    await lab.observer.remove(first?.path ?? '');
    expect(await seen).to.equal(true);
  });

  const ownLock = (released: () => void): PartOfMultiLock => ({
    path: `${lab.path}-own`,
    acquire: () =>
      Promise.resolve({
        isValid: true,
        signal: new AbortController().signal,
        release: () => Promise.resolve('released' as const).finally(released),
      }),
  });

  it('begins no transaction with a lock of your own, because no znode of it could be checked', async () => {
    for (const locks of [[mutex('a'), ownLock(() => {})], [ownLock(() => {})]]) {
      await using hold = await new InterProcessMultiLock(locks).acquire();
      expect(() => hold.transaction()).to.throw(TypeError, 'locks of this library and of one client');
    }
  });

  it('releases the hold of a lock of your own once, at the end of its lease', async () => {
    let releases = 0;
    const own = ownLock(() => (releases += 1));
    const hold = await new InterProcessMultiLock([mutex('a'), own]).acquire({ leaseMs: 50 });
    await aborted(hold.signal);
    expect(await hold.release()).to.equal('lost');
    expect(releases).to.equal(1);
    await areFree('a');
  });

  it('releases the hold of a lock of your own at the end of its lease, also if its other holds were lost before', async () => {
    let releases = 0;
    const own = ownLock(() => (releases += 1));
    const hold = await new InterProcessMultiLock([mutex('a'), own]).acquire({ leaseMs: 5_000 });
    const loss = aborted(hold.signal);
    const [name = ''] = await lab.observer.children(`${lab.path}-a`);
    await lab.observer.remove(`${lab.path}-a/${name}`);
    expect(await loss).to.have.property('reason', 'node-deleted');
    expect(releases).to.equal(0);
    await until('the hold of the own lock is released', () => releases === 1);
    expect(await hold.release()).to.equal('lost');
    expect(releases).to.equal(1);
  });

  let released: number;
  const release = (): void => void (released += 1);
  for (const [what, given] of Object.entries<object | number | undefined>({
    'nothing, as of a tryAcquire': undefined,
    'a number': 5,
    'a hold without isValid': { signal: new AbortController().signal, release },
    'a hold without release': { signal: new AbortController().signal, isValid: true },
    'a hold without a signal': { isValid: true, release },
  })) {
    it(`rejects if a lock of your own gives ${what}, and releases it and the others`, async () => {
      released = 0;
      const own = { path: 'own', acquire: () => Promise.resolve(given as Hold) };
      const error = await rejection(new InterProcessMultiLock([mutex('a'), own]).acquire());
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.match(/^Expected `the (result of acquire\(\)|signal of the hold) of own` to be /);
      expect(released).to.equal(Object.values(given ?? {}).includes(release) ? 1 : 0);
      await areFree('a');
    });
  }

  it('releases the hold of a lock of your own once, also if a listener of another lock releases all', async () => {
    let releases = 0;
    const [own, a] = [ownLock(() => (releases += 1)), mutex('a')];
    const hold = await new InterProcessMultiLock([own, a]).acquire();
    let again: Promise<unknown> | undefined;
    a.on('released', () => void (again = hold.release()));
    expect(hold.release()).to.equal(again);
    expect(await again).to.equal('released');
    expect(releases).to.equal(1);
  });

  it('forgets a hold whose lease has ended, because nobody may release it', async () => {
    const lock = multi('a');
    const hold = await lock.acquire({ leaseMs: 5 });
    expect(lock.toJSON()).to.have.property('holds').with.lengthOf(1);
    await aborted(hold.signal);
    expect(lock.toJSON()).to.have.property('holds').with.lengthOf(0);
    await areFree('a');
  });

  it('pauses before it starts over, although a lock of your own gives only holds that are not valid', async () => {
    let acquires = 0;
    const own: PartOfMultiLock = {
      path: 'own',
      acquire: () => {
        acquires += 1;
        return Promise.resolve({ isValid: false, signal: new AbortController().signal, release: async () => 'lost' });
      },
    };
    const both = new InterProcessMultiLock([mutex('a'), own]);
    expect(await both.tryAcquire()).to.equal(undefined);
    expect(acquires).to.equal(1);
    const stop = new AbortController();
    const waiting = rejection(both.acquire({ signal: stop.signal }));
    await lab.sleep(5_000);
    stop.abort(new Error('stopped'));
    expect(await waiting).to.equal(stop.signal.reason);
    expect(acquires).to.be.within(10, 20);
    await areFree('a');
    const closed = rejection(both.acquire());
    await lab.sleep(5_500);
    const closedAt = lab.now();
    void lab.client.close();
    expect(await closed).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    expect(lab.now() - closedAt).to.be.below(100);
  });

  for (const name of ['a', 'b'])
    it(`starts over if it loses lock ${name} while it waits for lock c`, async () => {
      const gate = await mutex('c', lab.other).acquire();
      const waiting = multi('a', 'b', 'c').acquire({ timeoutMs: 10_000 });
      await until('the multi-lock waits for the last lock', async () => (await queue('c')) === 2);
      const [before] = await lab.observer.children(`${lab.path}-${name}`);
      const held = `${lab.path}-${name}/${before ?? ''}`;
      await until('the client watches the znode', () => lab.client.session.watches.paths('data').includes(held));
      await lab.client.session.prove();
      await lab.observer.remove(held);
      await lab.client.session.prove();
      await gate.release();
      const hold = await waiting;
      expect(hold.isValid).to.equal(true);
      expect(hold.holds.map(({ path }) => path)).to.not.include(held);
      await hold.release();
      await areFree('a', 'b', 'c');
    });

  it('is re-entrant inside its job, lock by lock, and free afterwards', async () => {
    const [a, b] = [mutex('a'), mutex('b')];
    const lock = new InterProcessMultiLock([a, b]);
    await lock.withLock(async (outer) => {
      const inner = await lock.acquire({ timeoutMs: 0 });
      expect(inner.holds.map(({ path }) => path)).to.deep.equal(outer.holds.map(({ path }) => path));
      await a.withLock((hold) => expect(hold.path).to.equal(outer.holds[0]?.path));
      await inner.release();
      expect(outer.isValid).to.equal(true);
    });
    await areFree('a', 'b');
  });

  it('detects a certain deadlock as each of its locks does', async () => {
    const inner = multi('a', 'b');
    const error = await rejection(mutex('b').withLock(() => lockContext.run(() => inner.acquire())));
    expect(error).to.have.property('code', 'ERR_LOCK_DEADLOCK');
    await areFree('a', 'b');
  });

  it('accepts locks of several kinds', async () => {
    const lock = new InterProcessMultiLock([mutex('a'), new InterProcessSemaphoreMutex(lab.client, lab.path)]);
    const hold = await lock.acquire();
    await crowd(lab.observer, lab.path, { leases: 1, locks: 0 });
    await hold.release();
    await crowd(lab.observer, lab.path, { leases: 0, locks: 0 });
  });

  it('rejects a job that fulfils after a loss, and passes on the error of a job', async () => {
    const lock = multi('a', 'b');
    const lost = await rejection(
      lock.withLock(async (hold) => {
        await lab.observer.remove(hold.holds[1]?.path ?? '');
        await aborted(hold.signal);
      }),
    );
    expect(lost).to.be.instanceOf(LockLostError);
    const own = new Error('own');
    expect(await rejection(lock.withLock(() => Promise.reject(own)))).to.equal(own);
    expect(await lock.withLock(() => 7)).to.equal(7);
    await areFree('a', 'b');
  });

  it('is released once, and is not valid afterwards', async () => {
    const hold = await multi('a', 'b').acquire();
    expect(hold.release()).to.equal(hold.release());
    expect(await hold.release()).to.equal('released');
    expect(hold.isValid).to.equal(false);
    expect(hold.signal.aborted).to.equal(false);
    expect(() => hold.assertValid())
      .to.throw()
      .with.property('code', 'ERR_LOCK_NOT_OWNED');
  });

  it('is released, and not lost, also if Bluebird has replaced Promise', async () => {
    const { allSettled } = Promise;
    // As Bluebird does, whose results have methods only.
    Promise.allSettled = (() => Promise.resolve([{}, {}])) as never;
    try {
      expect(await (await multi('a', 'b').acquire()).release()).to.equal('released');
    } finally {
      Promise.allSettled = allSettled;
    }
  });

  describe('is refused', () => {
    it('without a lock', () => {
      expect(() => new InterProcessMultiLock([])).to.throw(RangeError, 'Expected `locks` to be at least one lock');
    });

    it('with a path of one client twice', () => {
      expect(() => multi('a', 'b', 'a')).to.throw(RangeError, `"${lab.path}-a" twice`);
      const between = [mutex('a'), mutex('a', lab.other), new InterProcessSemaphoreMutex(lab.client, `${lab.path}-a`)];
      expect(() => new InterProcessMultiLock(between)).to.throw(RangeError, `"${lab.path}-a" twice`);
    });

    it('with a path below another', () => {
      const [upper, lower, beside] = [lab.path, `${lab.path}/lower`, `${lab.path}-beside`].map(
        (path) => new InterProcessMutex(lab.client, path),
      ) as [InterProcessMutex, InterProcessMutex, InterProcessMutex];
      for (const locks of [
        [lower, upper],
        [beside, upper, lower],
      ])
        expect(() => new InterProcessMultiLock(locks)).to.throw(RangeError, `"${lower.path}" below "${upper.path}"`);
      const elsewhere = new InterProcessMutex(lab.other, lower.path);
      for (const locks of [
        [upper, beside],
        [upper, elsewhere],
      ])
        expect(new InterProcessMultiLock(locks).paths).to.deep.equal(locks.map(({ path }) => path));
    });

    it('with a path twice if the client of one lock is unknown', () => {
      const foreign: PartOfMultiLock<Hold> = { path: `${lab.path}-a`, acquire: () => mutex('b').acquire() };
      for (const locks of [
        [foreign, mutex('a')],
        [mutex('a'), foreign],
        [foreign, { ...foreign }],
      ])
        expect(() => new InterProcessMultiLock(locks)).to.throw(RangeError, `"${lab.path}-a" twice`);
    });

    for (const wrong of [undefined, 'locks', [undefined], [{}], [{ acquire: () => undefined }]])
      it(`with ${JSON.stringify(wrong, (_, value: unknown) => (typeof value === 'function' ? 'a function' : value))}`, () => {
        expect(() => new InterProcessMultiLock(wrong as never)).to.throw(
          TypeError,
          /Expected `locks(\[0\](\.path)?)?`/,
        );
      });
  });
});
