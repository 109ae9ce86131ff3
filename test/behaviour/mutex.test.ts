import { getEventListeners } from 'node:events';
import { expect } from 'chai';
import { InterProcessMutex, LockClient, LockError, ZooKeeperError, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection, until } from '../../lab/until.ts';

describe('InterProcessMutex', () => {
  const lab = labOfEachTest('mutex');

  it('is held by one of two clients at a time, and a release passes it on', async () => {
    const first = await lab.mutex.acquire();
    let isSecondGranted = false;
    const second = lab.theirs.acquire().then((hold) => {
      isSecondGranted = true;
      return hold;
    });
    await until('both clients are in the queue', async () => (await lab.mutex.participants()).length === 2);
    expect(isSecondGranted).to.equal(false);
    expect(await first.release()).to.equal('released');
    const hold = await second;
    expect(hold.isValid).to.equal(true);
    expect(hold.fencingToken > first.fencingToken).to.equal(true);
    await hold.release();
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('grants in the order in which the znodes were created', async () => {
    const mutexes = [lab.mutex, lab.theirs] as const;
    const gate = await mutexes[0].acquire();
    const granted: Hold[] = [];
    const all = Array.from({ length: 20 }, async (_, index) => {
      await using hold = await (index % 2 === 0 ? mutexes[0] : mutexes[1]).acquire();
      granted.push(hold);
    });
    await until('all acquires are in the queue', async () => (await mutexes[0].participants()).length === 21);
    const queue = (await mutexes[0].participants()).map((participant) => participant.path);
    await gate.release();
    await Promise.all(all);
    expect(granted.map((hold) => hold.path)).to.deep.equal(queue.slice(1));
  });

  it('times out with an error that names the lock and the time, and leaves no znode', async () => {
    await using hold = await lab.mutex.acquire();
    const error = await rejection(lab.theirs.acquire({ timeoutMs: 60 }));
    expect(error).to.be.instanceOf(LockError);
    expect(error.code).to.equal('ERR_LOCK_TIMEOUT');
    expect(error.message).to.contain(lab.path).and.to.contain('60 ms');
    await lab.queueReaches(1);
    expect(hold.isValid).to.equal(true);
  });

  it('a waiter behind another one that gives up moves up, and does not overtake the holder', async () => {
    const hold = await new InterProcessMutex(lab.client, lab.path).acquire();
    const controller = new AbortController();
    const givingUp = rejection(lab.theirs.acquire({ signal: controller.signal }));
    await until('the second acquire is queued', async () => (await lab.theirs.participants()).length === 2);
    let isThird = false;
    const third = new InterProcessMutex(lab.client, lab.path).acquire().then((granted) => {
      isThird = true;
      return granted;
    });
    await until('the third acquire is queued', async () => (await lab.theirs.participants()).length === 3);
    controller.abort();
    await givingUp;
    await lab.queueReaches(2);
    // The reply to this request follows the watch event of the deleted predecessor.
    await new InterProcessMutex(lab.client, lab.path).participants();
    expect(isThird).to.equal(false);
    await hold.release();
    await (await third).release();
  });

  it('an aborted acquire rejects with the reason and leaves no znode', async () => {
    await using _hold = await lab.mutex.acquire();
    const controller = new AbortController();
    const waiting = rejection(lab.theirs.acquire({ signal: controller.signal }));
    await lab.queueReaches(2);
    const reason = new Error('changed my mind');
    controller.abort(reason);
    expect(await waiting).to.equal(reason);
    await lab.queueReaches(1);
  });

  it('an acquire with an aborted signal sends nothing', async () => {
    const reason = new Error('too late');
    expect(await rejection(lab.mutex.acquire({ signal: AbortSignal.abort(reason) }))).to.equal(reason);
    expect(await lab.observer.exists(lab.path)).to.equal(false);
  });

  it('a signal that twelve clients share gets one listener', async () => {
    const clients = await Promise.all(Array.from({ length: 12 }, () => LockClient.connect(lab.connectString)));
    try {
      const hold = await lab.mutex.acquire();
      const aborter = new AbortController();
      const waiting = clients.map((client) =>
        rejection(new InterProcessMutex(client, lab.path).acquire({ signal: aborter.signal })),
      );
      await lab.queueReaches(13);
      expect(getEventListeners(aborter.signal, 'abort')).to.have.length(1);
      aborter.abort();
      await Promise.all(waiting);
      await hold.release();
    } finally {
      await Promise.all(clients.map((client) => client.close()));
    }
  });

  it('a hundred waiters on one signal cause no warning, and all leave the queue', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    try {
      const hold = await lab.mutex.acquire();
      const controller = new AbortController();
      const waiting = Array.from({ length: 100 }, () => rejection(lab.theirs.acquire({ signal: controller.signal })));
      await lab.queueReaches(101);
      controller.abort();
      await Promise.all(waiting);
      await lab.queueReaches(1);
      await hold.release();
      expect(warnings.map(String)).to.deep.equal([]);
    } finally {
      process.off('warning', warned);
    }
  });

  describe('tryAcquire', () => {
    it('acquires a free lock, and returns undefined for a held lock', async () => {
      const hold = await lab.mutex.tryAcquire();
      expect(hold?.isValid).to.equal(true);
      expect(await lab.theirs.tryAcquire()).to.equal(undefined);
      await hold?.release();
    });

    it('writes the data of the call into its znode', async () => {
      await using hold = await lab.mutex.tryAcquire({ data: Buffer.from('job 7') });
      expect(hold?.isValid).to.equal(true);
      expect((await lab.theirs.participants())[0]?.data.toString()).to.equal('job 7');
    });

    it('writes nothing if the lock is held', async () => {
      const hold = await new InterProcessMutex(lab.client, lab.path).acquire();
      const before = hold.fencingToken;
      for (let tries = 0; tries < 5; tries += 1) await new InterProcessMutex(lab.other, lab.path).tryAcquire();
      await hold.release();
      await using next = await new InterProcessMutex(lab.client, lab.path).acquire();
      expect(next.path.slice(-10), `the sequence after ${String(before)}`).to.equal('0000000001');
    });

    it('waits for the given time', async () => {
      const hold = await new InterProcessMutex(lab.client, lab.path).acquire();
      const waiting = new InterProcessMutex(lab.other, lab.path).tryAcquire(10_000);
      await lab.queueReaches(2);
      await hold.release();
      await (await waiting)?.release();
      await using _again = await new InterProcessMutex(lab.client, lab.path).acquire();
      expect(await new InterProcessMutex(lab.other, lab.path).tryAcquire(30)).to.equal(undefined);
    });
  });

  it('tries once with a timeout of 0', async () => {
    await using _hold = await lab.mutex.acquire({ timeoutMs: 0 });
    expect((await rejection(lab.theirs.acquire({ timeoutMs: 0 }))).code).to.equal('ERR_LOCK_TIMEOUT');
  });

  it('waits with a timeout beyond 2^31 ms', async () => {
    const hold = await lab.mutex.acquire();
    const waiting = lab.theirs.acquire({ timeoutMs: 2 ** 40 });
    await lab.queueReaches(2);
    await hold.release();
    await (await waiting).release();
  });

  it('names its znode as Curator does, with the address of the host as data', async () => {
    const before = Date.now();
    await using hold = await lab.mutex.acquire();
    expect(hold.path.startsWith(`${lab.path}/`)).to.equal(true);
    expect(hold.path.slice(lab.path.length + 1)).to.match(/^_c_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-\d{10}$/);
    const [participant] = await lab.theirs.participants();
    expect(participant?.path).to.equal(hold.path);
    expect(participant?.sequence).to.equal(0);
    expect(participant?.data.toString()).to.match(/^[\d.:a-f]+$/);
    expect(participant?.sessionId).to.match(/^0x[0-9a-f]+$/);
    expect(participant?.createdAt.getTime()).to.be.within(before, Date.now());
  });

  it('has no participants on a path that was never used', async () => {
    expect(await new InterProcessMutex(lab.client, testPath('nobody')).participants()).to.deep.equal([]);
  });

  it('a sibling with a foreign name is an error that names it, and leaves no znode', async () => {
    const hold = await new InterProcessMutex(lab.client, lab.path).acquire();
    await lab.observer.create(`${lab.path}/0-somebody`);
    await hold.release();
    const error = await rejection(new InterProcessMutex(lab.client, lab.path).acquire());
    expect(error.code).to.equal('ERR_LOCK_FOREIGN_NODE');
    expect(error.message).to.contain('0-somebody').and.to.contain(lab.path);
    expect((await rejection(new InterProcessMutex(lab.client, lab.path).tryAcquire())).code).to.equal(
      'ERR_LOCK_FOREIGN_NODE',
    );
    await lab.queueReaches(1);
    await lab.observer.remove(`${lab.path}/0-somebody`);
  });

  it("waits behind a foreign sibling that sorts before it with foreignNodes: 'wait'", async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path, { foreignNodes: 'wait' });
    await (await mutex.acquire()).release();
    await lab.observer.create(lab.path).catch(() => undefined);
    await lab.observer.create(`${lab.path}/!somebody`);
    let isGranted = false;
    const waiting = mutex.acquire().then((hold) => {
      isGranted = true;
      return hold;
    });
    await lab.queueReaches(2);
    expect(await mutex.tryAcquire()).to.equal(undefined);
    expect((await mutex.holder())?.path).to.equal(`${lab.path}/!somebody`);
    expect(isGranted).to.equal(false);
    await lab.observer.remove(`${lab.path}/!somebody`);
    await (await waiting).release();
  });

  it('waits behind a foreign sibling that is created before it while it waits', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path, { foreignNodes: 'wait' });
    const gate = await lab.theirs.acquire();
    let isGranted = false;
    const waiting = mutex.acquire().finally(() => (isGranted = true));
    await lab.queueReaches(2);
    await lab.observer.create(`${lab.path}/!somebody`);
    await gate.release();
    await until('the waiter waits for the sibling', () =>
      lab.client.session.watches.paths('data').includes(`${lab.path}/!somebody`),
    );
    expect(isGranted).to.equal(false);
    await lab.observer.remove(`${lab.path}/!somebody`);
    await (await waiting).release();
  });

  it('a parent that forbids creating is an error with the ZooKeeper error as cause, and leaves no znode', async () => {
    const parent = lab.path.slice(0, lab.path.lastIndexOf('/'));
    await lab.observer.create(parent, [{ permissions: 1, scheme: 'world', id: 'anyone' }]);
    const error = await rejection(lab.mutex.acquire());
    expect(error.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain(lab.path);
    expect(error.cause).to.be.instanceOf(ZooKeeperError);
    expect((error.cause as ZooKeeperError).code).to.equal('NO_AUTH');
    expect(await lab.observer.children(parent)).to.deep.equal([]);
  });

  it('an ephemeral parent is an error, not a wait', async () => {
    await using hold = await lab.mutex.acquire();
    const error = await rejection(
      new InterProcessMutex(lab.client, `${hold.path}/below`).acquire({ timeoutMs: 5_000 }),
    );
    expect((error.cause as ZooKeeperError).code).to.equal('NO_CHILDREN_FOR_EPHEMERALS');
  });

  it('queues up again at the end if its waiting znode is deleted by another client', async () => {
    const hold = await lab.mutex.acquire();
    const waiting = lab.theirs.acquire();
    await lab.queueReaches(2);
    const mine = (await lab.theirs.participants())[1];
    await lab.observer.remove(mine?.path ?? '');
    await until('the waiter is queued again', async () => (await lab.theirs.participants())[1]?.sequence === 2);
    await hold.release();
    expect((await waiting).path.endsWith('2')).to.equal(true);
    await (await waiting).release();
  });

  it('aborts the signal of a holder whose znode was deleted, and grants the next waiter', async () => {
    const hold = await lab.mutex.acquire();
    const loss = new Promise((resolve) => hold.signal.addEventListener('abort', () => resolve(hold.signal.reason)));
    const next = lab.theirs.acquire();
    await lab.queueReaches(2);
    await lab.observer.remove(hold.path);
    const reason = (await loss) as LockError & { reason: string };
    expect(reason.code).to.equal('ERR_LOCK_LOST');
    expect(reason.reason).to.equal('node-deleted');
    expect(hold.isValid).to.equal(false);
    expect(() => hold.assertValid()).to.throw(LockError, 'another client deleted its znode');
    await using successor = await next;
    expect(await hold.release()).to.equal('lost');
    expect(successor.isValid).to.equal(true);
  });

  it('refuses invalid input before it sends anything, and names option, value and accepted values', async () => {
    const make = (path: unknown, options?: unknown): InterProcessMutex =>
      new InterProcessMutex(lab.client, path as string, options as Record<string, never>);
    expect(() => make('locks')).to.throw(LockError, 'Path must start with / character');
    expect(() => make('/locks/')).to.throw(LockError, 'Path must not end with / character');
    for (const path of ['', '/', '/a//b', '/a/./b', '/a/../b', '/a\u0000', null, undefined, 7]) {
      expect(() => make(path), String(path))
        .to.throw(LockError)
        .with.property('code', 'ERR_LOCK_INVALID_PATH');
    }
    expect(() => new InterProcessMutex({} as unknown as LockClient, '/a')).to.throw(TypeError, '`client`');
    expect(() => make('/a', { foreignNodes: 'ignore' })).to.throw(
      TypeError,
      /foreignNodes.*'reject', 'wait'.*"ignore"/,
    );
    expect(() => make('/a', { timeout: 1 })).to.throw(TypeError, '`timeout`');
    const mutex = make(lab.path);
    const acquire = (options: unknown): Promise<Error> => rejection(mutex.acquire(options as { timeoutMs: number }));
    for (const timeoutMs of [-1, NaN, Infinity]) {
      expect(await acquire({ timeoutMs }))
        .to.be.instanceOf(RangeError)
        .with.property('message')
        .that.contains('timeoutMs')
        .and.contains(String(timeoutMs));
    }
    for (const timeoutMs of ['5', null, {}, 5n])
      expect(await acquire({ timeoutMs }))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.contains('timeoutMs');
    for (const options of [5, null, 'x', []]) expect(await acquire(options)).to.be.instanceOf(TypeError);
    expect((await acquire({ timeout: 5 })).message)
      .to.contain('`timeout`')
      .and.to.contain('timeoutMs');
    expect((await acquire({ signal: {} })).message)
      .to.contain('`signal`')
      .and.to.contain('AbortSignal');
    expect(await rejection(mutex.tryAcquire(-5))).to.be.instanceOf(RangeError);
    expect(await lab.observer.exists(lab.path)).to.equal(false);
  });

  it('tells a hold that has expired as held for at least its lease', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('expired'));
    const heldMs: number[] = [];
    lab.client.on('lock', (event) => {
      if (event.type === 'expired') heldMs.push(event.heldMs ?? 0);
    });
    for (let count = 1; count <= 5; count += 1) {
      const hold = await mutex.acquire({ leaseMs: 30 });
      await until('the lease ends', () => heldMs.length === count);
      await hold.release();
    }
    expect(Math.min(...heldMs)).to.be.at.least(30);
  });

  it('refuses every call at once after close', async () => {
    const short = await LockClient.connect(lab.connectString);
    const mutex = new InterProcessMutex(short, testPath('closed'));
    await short.close();
    expect((await rejection(mutex.acquire())).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
    expect((await rejection(mutex.tryAcquire())).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
    expect((await rejection(mutex.participants())).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
  });

  it('is closed: waiters are rejected, holds are lost, and both znodes are deleted', async () => {
    const short = await LockClient.connect(lab.connectString);
    const mutex = new InterProcessMutex(short, lab.path);
    const hold = await mutex.acquire();
    const { signal } = hold;
    const waiting = rejection(mutex.acquire());
    await lab.queueReaches(2);
    await short.close();
    expect((await waiting).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
    expect((signal.reason as { reason: string }).reason).to.equal('client-closed');
    expect(await hold.release()).to.equal('lost');
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    expect(short.state).to.equal('closed');
  });
});
