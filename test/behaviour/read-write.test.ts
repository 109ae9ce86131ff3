import { expect } from 'chai';
import {
  DeadlockError,
  InterProcessMutex,
  InterProcessReadWriteLock,
  LockLostError,
  lockContext,
  type Hold,
} from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { type Frame } from '../../lab/proxy/zk-proxy.ts';
import { permission } from '../../lab/wire/account.ts';
import { setAcl } from './operator/acl.ts';

describe('readers and writers', () => {
  const lab = labOfEachTest('read-write', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  const pair = (name: string): { rw: InterProcessReadWriteLock; theirs: InterProcessReadWriteLock } => {
    const path = testPath(name);
    return {
      rw: new InterProcessReadWriteLock(lab.client, path),
      theirs: new InterProcessReadWriteLock(lab.other, path),
    };
  };
  const queued = (path: string, count: number): Promise<void> =>
    until(`${count} znodes are in the queue`, async () => (await lab.observer.children(path)).length === count);
  const nothingIsLeft = (path: string): Promise<void> => queued(path, 0);

  /** The transactions that create a reader next to its writer; heartbeats are multis as well. */
  const creations = new Set<number>();
  const isCreation =
    (side: Frame['from']) =>
    (frame: Frame): boolean =>
      frame.from === side && frame.op === 'multi' && creations.has(frame.xid);
  const isHeartbeat = ({ op, body }: Frame): boolean => op === 'multi' && !body.includes('__READ__');
  const watchCreations = (): void => {
    creations.clear();
    lab.proxy.on((frame) => {
      if (frame.from === 'client' && frame.op === 'multi' && frame.body.includes('__READ__')) creations.add(frame.xid);
      return undefined;
    });
  };

  describe('a downgrade', () => {
    it('is one transaction: the reader has the writer’s sequence, token and session', async () => {
      const { rw } = pair('one-transaction');
      await rw.writeLock.withLock(async (writing) => {
        await lab.proxy.seen(({ from, op }) => from === 'server' && op === 'getData');
        lab.proxy.clear();
        await using reading = await rw.readLock.acquire();
        expect(
          lab.proxy.frames
            .filter((frame) => frame.from === 'client' && frame.body.includes(rw.path) && !isHeartbeat(frame))
            .map(({ op }) => op),
        ).to.deep.equal(['multi']);
        expect(reading.path).to.match(/\/_c_[-0-9a-f]{36}-__READ__\d{10}$/);
        expect(reading.path.slice(-10)).to.equal(writing.path.slice(-10));
        expect(reading.fencingToken).to.equal(writing.fencingToken);
        expect((await lab.observer.ephemerals(rw.path)).map(({ owner }) => owner)).to.deep.equal([
          lab.client.session.id,
          lab.client.session.id,
        ]);
      });
      await using alone = await rw.readLock.acquire();
      expect(alone.fencingToken > 0n).to.equal(true);
    });

    it('writes the data of the call into the reader’s znode', async () => {
      const { rw } = pair('data');
      await rw.writeLock.withLock(async () => {
        await using reading = await rw.readLock.acquire({ data: Buffer.from('job 7') });
        expect(await lab.observer.read(reading.path)).to.equal('job 7');
      });
    });

    it('by tryAcquire is refused at once while there is no connection', async () => {
      const { rw } = pair('try-in-outage');
      await rw.writeLock.withLock(async (writing) => {
        await lab.disconnect();
        expect(await rw.readLock.tryAcquire()).to.equal(undefined);
        expect(writing.isValid).to.equal(true);
        await lab.proxy.accept();
      });
    });

    it('by tryAcquire is granted, and is no downgrade in another context', async () => {
      const { rw } = pair('try');
      await rw.writeLock.withLock(async () => {
        const reading = await rw.readLock.tryAcquire();
        expect(reading?.isValid).to.equal(true);
        expect(await lockContext.run(() => rw.readLock.tryAcquire())).to.equal(undefined);
        await reading?.release();
      });
    });

    it('that the servers do not permit is refused, and the writer keeps its lock', async () => {
      const { rw } = pair('not-permitted');
      await rw.writeLock.withLock(async (writing) => {
        await setAcl(lab.other, rw.path, permission.all - permission.create);
        expect(await rejection(rw.readLock.acquire({ timeoutMs: 5_000 }))).to.have.property(
          'code',
          'ERR_LOCK_REQUEST_FAILED',
        );
        expect(writing.isValid).to.equal(true);
      });
    });

    it('outlives the write lock, and lets other readers in, but no writer', async () => {
      const { rw, theirs } = pair('outlives');
      const order: string[] = [];
      const reading = await rw.writeLock.withLock(() => rw.readLock.acquire());
      const reader = await theirs.readLock.acquire({ timeoutMs: 5_000 });
      const writer = theirs.writeLock.acquire().then((hold) => (order.push('writer'), hold));
      await queued(rw.path, 3);
      await reader.release();
      await queued(rw.path, 2);
      expect(await theirs.writeLock.tryAcquire()).to.equal(undefined);
      order.push('released');
      await reading.release();
      await (await writer).release();
      expect(order).to.deep.equal(['released', 'writer']);
    });

    for (const [side, action] of [
      ['server', 'cut'],
      ['server', 'cut-inside'],
      ['client', 'cut'],
    ] as const)
      it(`whose create loses its ${side === 'server' ? 'reply' : 'request'} (${action}) is searched by uuid, behind a quorum write`, async () => {
        const { rw, theirs } = pair('lost-reply');
        watchCreations();
        let isDone = false;
        lab.proxy.on((frame) => {
          if (isDone || !isCreation(side)(frame)) return undefined;
          isDone = true;
          return action;
        });
        const reading = await rw.writeLock.withLock(async (writing) => {
          const contending = theirs.writeLock.tryAcquire(20);
          lab.proxy.clear();
          const hold = await rw.readLock.acquire();
          expect(await contending).to.equal(undefined);
          expect(hold.path.slice(-10)).to.equal(writing.path.slice(-10));
          expect(hold.fencingToken).to.equal(writing.fencingToken);
          return hold;
        });
        expect(isDone).to.equal(true);
        const asked = lab.proxy.frames.filter(({ from }) => from === 'client').map(({ op }) => op);
        const list = asked.indexOf('getChildren2');
        expect(asked[list - 1]).to.equal('multi');
        expect(creations.size).to.equal(side === 'server' ? 1 : 2);
        await queued(rw.path, 1);
        expect(reading.isValid).to.equal(true);
        expect(await theirs.writeLock.tryAcquire()).to.equal(undefined);
        await reading.release();
        await nothingIsLeft(rw.path);
      });

    it('whose create is lost while the writer releases queues up again at the end', async () => {
      const { rw, theirs } = pair('let-go');
      watchCreations();
      let isDone = false;
      let reading: Promise<Hold> | undefined;
      const next = await rw.writeLock.withLock(async () => {
        const waiting = theirs.writeLock.acquire();
        await queued(rw.path, 2);
        lab.proxy.on((frame) => {
          if (isDone || !isCreation('client')(frame)) return undefined;
          isDone = true;
          return 'cut';
        });
        const isCut = lab.proxy.seen(isCreation('client'));
        reading = rw.readLock.acquire();
        await isCut;
        return { waiting };
      });
      const writer = await next.waiting;
      await queued(rw.path, 2);
      expect(rw.readLock.isAcquiredInThisProcess).to.equal(false);
      await writer.release();
      const hold = await reading;
      expect(hold?.path.slice(-10)).to.equal('0000000002');
      await hold?.release();
      await nothingIsLeft(rw.path);
    });

    it('of a writer whose znode was deleted is refused, however late the watch event is', async () => {
      const { rw: sameLock, theirs } = pair('deleted');
      // So long that no heartbeat finds the deletion before the downgrade does.
      const client = await lab.connect({ sessionTimeoutMs: 30_000 });
      const rw = new InterProcessReadWriteLock(client, sameLock.path);
      watchCreations();
      const error = await rejection(
        rw.writeLock.withLock(async (writing) => {
          await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'getData');
          lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'watch' ? 'drop' : undefined));
          await lab.observer.remove(writing.path);
          await using _next = await theirs.writeLock.acquire({ timeoutMs: 5_000 });
          expect(writing.isValid).to.equal(true);
          const refused = await rejection(rw.readLock.acquire());
          expect(refused).to.be.instanceOf(LockLostError).with.property('reason', 'node-deleted');
          expect(writing.signal.aborted).to.equal(true);
          expect(creations.size, 'one request for the downgrade').to.equal(1);
        }),
      );
      expect(error).to.be.instanceOf(LockLostError);
      await nothingIsLeft(rw.path);
    });

    it('of a writer that still waits in the same context waits for that writer', async () => {
      const { rw, theirs } = pair('parallel');
      const held = await theirs.readLock.acquire();
      await lockContext.run(async () => {
        const writing = rw.writeLock.acquire();
        const reading = rw.readLock.acquire();
        await queued(rw.path, 2);
        await held.release();
        const holds = await Promise.all([writing, reading]);
        expect(holds.map(({ path }) => path.slice(-10))).to.deep.equal(['0000000001', '0000000001']);
        await Promise.all(holds.map((hold) => hold.release()));
      });
    });
  });

  describe('an upgrade', () => {
    const upgrades: Record<string, (rw: InterProcessReadWriteLock) => Promise<unknown>> = {
      acquire: (rw) => rw.writeLock.acquire(),
      withLock: (rw) => rw.writeLock.withLock(() => undefined),
      'acquire in another context': (rw) => lockContext.run(() => rw.writeLock.acquire()),
    };
    for (const [how, upgrade] of Object.entries(upgrades))
      it(`by ${how} is a deadlock, reported at once and without a request`, async () => {
        const { rw } = pair('upgrade');
        await rw.readLock.withLock(async () => {
          const error = await rejection(upgrade(rw));
          expect(error).to.be.instanceOf(DeadlockError).with.property('code', 'ERR_LOCK_DEADLOCK');
          expect(error.message).to.contain(rw.path).and.to.contain('for reading');
          expect(await lab.observer.children(rw.path)).to.have.length(1);
        });
      });

    it('while a read acquire runs in the same context is a deadlock once the read is granted', async () => {
      const { rw } = pair('upgrade-parallel');
      await lockContext.run(async () => {
        const reading = rw.readLock.acquire();
        expect(await rejection(rw.writeLock.acquire())).to.be.instanceOf(DeadlockError);
        await (await reading).release();
      });
    });

    it('ends with its timeout, by tryAcquire at once, and lets others read afterwards', async () => {
      const { rw, theirs } = pair('upgrade-time');
      await rw.readLock.withLock(async () => {
        expect((await rejection(rw.writeLock.acquire({ timeoutMs: 30 }))).code).to.equal('ERR_LOCK_TIMEOUT');
        expect(await rw.writeLock.tryAcquire()).to.equal(undefined);
        await queued(rw.path, 1);
        await (await theirs.readLock.acquire({ timeoutMs: 5_000 })).release();
      });
    });
  });

  it('in another context of a reader may read; under a writer they get the deadlock error', async () => {
    const { rw } = pair('nested');
    await rw.readLock.withLock(() => lockContext.run(async () => (await rw.readLock.acquire()).release()));
    await rw.writeLock.withLock(async () => {
      expect(await lockContext.run(() => rejection(rw.readLock.acquire()))).to.be.instanceOf(DeadlockError);
      const other = new InterProcessReadWriteLock(lab.client, rw.path);
      expect(await lockContext.run(() => rejection(other.readLock.acquire()))).to.be.instanceOf(DeadlockError);
    });
  });

  it('are served in queue order: a reader behind a waiting writer waits for that writer', async () => {
    const { rw, theirs } = pair('order');
    const order: string[] = [];
    const log =
      (name: string) =>
      (hold: Hold): Hold => (order.push(name), hold);
    const first = await rw.readLock.acquire();
    const writer = theirs.writeLock.acquire().then(log('writer'));
    await queued(rw.path, 2);
    expect(await rw.readLock.tryAcquire()).to.equal(undefined);
    const readers = [rw.readLock.acquire().then(log('reader')), theirs.readLock.acquire().then(log('reader'))];
    await queued(rw.path, 4);
    await first.release();
    await (await writer).release();
    for (const hold of await Promise.all(readers)) await hold.release();
    expect(order).to.deep.equal(['writer', 'reader', 'reader']);
  });

  it('re-enter their own lock without a request, and delete the znodes with the last release', async () => {
    const { rw } = pair('re-entry');
    await rw.writeLock.withLock(async () => {
      await rw.readLock.withLock(async () => {
        const before = await lab.observer.children(rw.path);
        await rw.writeLock.withLock(() =>
          rw.readLock.withLock(async () => expect(await lab.observer.children(rw.path)).to.have.members(before)),
        );
        expect(before).to.have.length(2);
        expect([rw.readLock.isOwnedByCurrentContext, rw.writeLock.isOwnedByCurrentContext]).to.deep.equal([true, true]);
      });
    });
    expect(await lab.observer.children(rw.path)).to.deep.equal([]);
  });

  it('both lose their holds with the session, before another client is granted', async () => {
    const { rw, theirs } = pair('session');
    const events: string[] = [];
    const [writing, reading] = await lockContext.run(
      async () => [await rw.writeLock.acquire(), await rw.readLock.acquire()] as const,
    );
    const losses = [writing, reading].map((hold) =>
      aborted(hold.signal).then((reason) => (events.push('aborted'), reason)),
    );
    const next = theirs.writeLock.acquire().then((hold) => (events.push('granted'), hold));
    await queued(rw.path, 3);
    lab.proxy.silence();
    for (const reason of await Promise.all(losses))
      expect(reason).to.be.instanceOf(LockLostError).with.property('reason', 'session-deadline');
    const granted = await next;
    expect(events).to.deep.equal(['aborted', 'aborted', 'granted']);
    expect(granted.fencingToken > reading.fencingToken).to.equal(true);
    lab.proxy.speak();
    expect(await Promise.all([writing.release(), reading.release()])).to.deep.equal(['lost', 'lost']);
    await granted.release();
    await nothingIsLeft(rw.path);
  });

  it('whose session was lost do not downgrade in the next session', async () => {
    const { rw } = pair('lost-writer');
    await lockContext.run(async () => {
      const writing = await rw.writeLock.acquire();
      const loss = aborted(writing.signal);
      await lab.endSession();
      await loss;
      expect(await rejection(rw.readLock.acquire())).to.be.instanceOf(LockLostError);
      expect(await rejection(rw.readLock.tryAcquire())).to.be.instanceOf(LockLostError);
      await writing.release();
      await (await rw.readLock.acquire()).release();
    });
    await nothingIsLeft(rw.path);
  });

  it('and mutexes on one path refuse each other at once, also when nested', async () => {
    const { rw } = pair('foreign');
    const mutex = new InterProcessMutex(lab.client, rw.path);
    const foreign = async (acquiring: Promise<unknown>): Promise<void> => {
      const error = await rejection(acquiring);
      expect(error.code).to.equal('ERR_LOCK_FOREIGN_NODE');
    };
    for (const lock of [rw.readLock, rw.writeLock]) {
      await lock.withLock(async (hold) => {
        await foreign(mutex.acquire());
        await foreign(mutex.tryAcquire());
        await until('the znode of the mutex is gone', async () => (await lab.observer.children(rw.path)).length === 1);
        expect(hold.isValid).to.equal(true);
      });
      await mutex.withLock(async (hold) => {
        await foreign(lock.acquire());
        await foreign(lock.tryAcquire());
        await until(
          'the znode of the reader or writer is gone',
          async () => (await lab.observer.children(rw.path)).length === 1,
        );
        expect(hold.isValid).to.equal(true);
      });
    }
  });

  for (const foreign of ['!somebody', `${'0'.repeat(32)}__lock__0000000000`])
    it(`behind ${foreign} are locked, and show it`, async () => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, lab.path, { foreignNodes: 'wait' });
      await readLock.withLock(() => lab.observer.create(`${lab.path}/${foreign}`));
      for (const lock of [readLock, writeLock]) {
        expect((await lock.participants()).map((participant) => participant.path)).to.deep.equal([
          `${lab.path}/${foreign}`,
        ]);
      }
      expect(await writeLock.tryAcquire()).to.equal(undefined);
      expect(await writeLock.isLocked()).to.equal(true);
    });

  it('refuse unknown and invalid options', () => {
    const make = (options: unknown) => () =>
      new InterProcessReadWriteLock(lab.client, '/rw', options as Record<string, never>);
    expect(make({ data: 'text' })).to.throw(TypeError, '`data`');
    expect(make({ foreignNodes: 'ignore' })).to.throw(TypeError, '`foreignNodes`');
    expect(make({ driver: {} })).to.throw(TypeError, '`driver`');
    expect(() => new InterProcessReadWriteLock(lab.client, 'rw')).to.throw('Path must start with /');
  });
});
