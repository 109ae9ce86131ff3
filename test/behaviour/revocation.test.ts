import { expect } from 'chai';
import {
  forceRelease,
  InterProcessMutex,
  InterProcessReadWriteLock,
  LockClient,
  LockLostError,
  lockContext,
  revoke,
  type BackgroundEvent,
  type Hold,
} from '../../src/index.ts';
import { createSequential, exists, sync } from '../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { chosenVersion } from '../../lab/servers/versions.ts';
import { virtualMachine } from '../../lab/world.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { once, sent } from '../../lab/proxy/frame-matches.ts';
import { type Frame } from '../../lab/proxy/zk-proxy.ts';
import { gate } from '../../lab/gate.ts';
import { queueReaches } from '../../lab/queue.ts';

describe('revocation', () => {
  const lab = labOfEachTest('revocation', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  const lock = (name: string): { mutex: InterProcessMutex; theirs: InterProcessMutex } => {
    const path = testPath(name);
    return { mutex: new InterProcessMutex(lab.client, path), theirs: new InterProcessMutex(lab.other, path) };
  };
  const answered =
    (op: Frame['op'], path: string) =>
    (frame: Frame): boolean =>
      frame.from === 'server' && frame.op === op && frame.path === path;
  const lengthAnd = (text: string): Buffer => Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]);
  /** Resolves when the client has read this text from a znode. */
  const hasRead = async (path: string, text: string): Promise<void> => {
    await lab.proxy.seen((frame) => answered('getData', path)(frame) && frame.body.includes(lengthAnd(text)));
    await lab.client.session.request(sync('/'));
  };
  /** The holds for which revocation was requested from a mutex, and a method that waits for them. */
  const requests = (mutex: InterProcessMutex): { readonly holds: Hold[]; reach(count: number): Promise<void> } => {
    const holds: Hold[] = [];
    mutex.makeRevocable((hold) => holds.push(hold));
    return { holds, reach: (count) => until(`${count} requests`, () => holds.length >= count) };
  };

  describe('makeRevocable', () => {
    it('calls the listener for each request, with the hold, and not for other data', async () => {
      const { mutex } = lock('each-request');
      const { holds, reach } = requests(mutex);
      const hold = await mutex.acquire();
      for (const text of ['__REVOKE__ ', '__REVOKE', '__revoke__']) {
        await lab.observer.write(hold.path, text);
        await hasRead(hold.path, text);
      }
      expect(holds).to.deep.equal([]);
      await revoke(lab.other, hold.path);
      await reach(1);
      await revoke(lab.other, hold.path);
      await reach(2);
      expect(holds).to.deep.equal([hold, hold]);
      expect(hold.isValid).to.equal(true);
      expect(await hold.release()).to.equal('released');
    });

    it('stays for the next holds of the mutex, whose znodes have no data', async () => {
      const { mutex } = lock('next-holds');
      const { holds, reach } = requests(mutex);
      await (await mutex.acquire()).release();
      await using hold = await mutex.acquire();
      expect(await lab.observer.read(hold.path)).to.equal('');
      await revoke(lab.other, hold.path);
      await reach(1);
      expect(holds).to.deep.equal([hold]);
    });

    it('calls the listener for an earlier request to a waiter, after its caller has the hold', async () => {
      const { mutex, theirs } = lock('waiter');
      const events: unknown[] = [];
      mutex.makeRevocable((hold) => events.push('asked for', hold));
      const first = await theirs.acquire();
      const waiting = mutex.acquire().then((hold) => (events.push('has', hold), hold));
      await queueReaches(theirs, 2);
      const [, waiter] = await theirs.participants();
      await lab.proxy.seen(answered('getData', waiter?.path ?? ''));
      await revoke(lab.other, waiter?.path ?? '');
      await lab.proxy.seen(answered('getData', waiter?.path ?? ''), 2);
      expect(events).to.deep.equal([]);
      await first.release();
      await using hold = await waiting;
      await until('the listener was called', () => events.length === 4);
      expect(events).to.deep.equal(['has', hold, 'asked for', hold]);
    });

    it('calls the listener for a request that came before the listener was set', async () => {
      const { mutex } = lock('too-late');
      await using hold = await mutex.acquire();
      await revoke(lab.other, hold.path);
      await hasRead(hold.path, '__REVOKE__');
      const { holds, reach } = requests(mutex);
      await reach(1);
      expect(holds).to.deep.equal([hold]);
    });

    it('calls the listener once for an earlier request to a re-entered lock', async () => {
      const { mutex } = lock('too-late-re-entered');
      await lockContext.run(async () => {
        await using outer = await mutex.acquire();
        await using _inner = await mutex.acquire();
        expect(await askedTooEarly(mutex, outer.path)).to.deep.equal([outer]);
      });
    });

    it('calls the listener for an earlier request with an inner hold if the lease of the outer one has ended', async () => {
      const { mutex } = lock('too-late-expired');
      await lockContext.run(async () => {
        await using outer = await mutex.acquire();
        await using inner = await mutex.acquire();
        outer.renew(20);
        await aborted(outer.signal);
        expect(await askedTooEarly(mutex, inner.path)).to.deep.equal([inner]);
      });
    });

    /** The holds for which a listener is called that is set after the request. */
    async function askedTooEarly(mutex: InterProcessMutex, path: string): Promise<readonly Hold[]> {
      await revoke(lab.other, path);
      await hasRead(path, '__REVOKE__');
      const { holds } = requests(mutex);
      await lab.sleep(100);
      return holds;
    }

    it('calls the listener for a request whose watch event was lost with a connection', async () => {
      const { mutex } = lock('lost-news');
      const { reach } = requests(mutex);
      await using hold = await mutex.acquire();
      // The request comes before the client's first read of its znode. The reply to that read is lost after the client
      // has received something later, so no watch of the next connection reports the request.
      await lab.observer.write(hold.path, '__REVOKE__');
      await lab.client.session.request(sync('/'));
      const read = lab.proxy.seen(
        (frame) => frame.from === 'client' && frame.op === 'getData' && frame.path === hold.path,
      );
      let isDone = false;
      lab.proxy.on((frame) => {
        if (isDone || !answered('getData', hold.path)(frame)) return undefined;
        isDone = true;
        return 'cut';
      });
      await read;
      await reach(1);
    });

    it('calls the listener of a re-entered lock once, with the outermost open hold', async () => {
      const { mutex } = lock('re-entered');
      const { holds, reach } = requests(mutex);
      await lockContext.run(async () => {
        const outer = await mutex.acquire();
        await using inner = await mutex.acquire();
        await revoke(lab.other, outer.path);
        await reach(1);
        await outer.release();
        await revoke(lab.other, inner.path);
        await reach(2);
        expect(holds).to.deep.equal([outer, inner]);
      });
    });

    it('calls the listener with an inner hold if the lease of the outer one has ended', async () => {
      const { mutex } = lock('expired');
      const { holds, reach } = requests(mutex);
      await lockContext.run(async () => {
        await using outer = await mutex.acquire();
        await using inner = await mutex.acquire();
        outer.renew(20);
        await aborted(outer.signal);
        await revoke(lab.other, inner.path);
        await reach(1);
        expect(holds).to.deep.equal([inner]);
      });
    });

    it('calls its listener outside of every lock context, so that it does not re-enter', async () => {
      const { mutex, theirs } = lock('nobody');
      const seen: unknown[] = [];
      mutex.makeRevocable((hold) => seen.push(mutex.isOwnedByCurrentContext, hold.isValid));
      const first = await theirs.acquire();
      const holder = lockContext.run(async () => {
        await using _hold = await mutex.acquire();
        await until('the listener was called', () => seen.length > 0);
      });
      await queueReaches(theirs, 2);
      const [, waiter] = await theirs.participants();
      await revoke(lab.other, waiter?.path ?? '');
      await hasRead(waiter?.path ?? '', '__REVOKE__');
      await first.release();
      await holder;
      expect(seen).to.deep.equal([false, true]);
    });

    it('reports a listener that fails as a warning, and continues', async () => {
      const { mutex } = lock('fails');
      const warnings: BackgroundEvent[] = [];
      lab.client.on('background', (event) => event.type === 'warning' && warnings.push(event));
      const processWarnings: string[] = [];
      const warned = ({ message }: Error): void => void processWarnings.push(message);
      process.on('warning', warned);
      const hold = await mutex.acquire();
      for (const [listener, message] of [
        [() => Promise.reject(new Error('rejects')), 'rejects'],
        [
          () => {
            throw new Error('throws');
          },
          'throws',
        ],
      ] as const) {
        mutex.makeRevocable(listener);
        await revoke(lab.other, hold.path);
        await until('there is a warning', () =>
          warnings.some((event) => event.type === 'warning' && (event.error as Error).message === message),
        );
      }
      expect(hold.isValid).to.equal(true);
      // The client has no logger.
      await until('there are process warnings', () => processWarnings.length >= 2);
      process.off('warning', warned);
      expect(processWarnings).to.include(
        `zookeeper-fair-lock: the listener of makeRevocable for ${hold.path} failed: rejects`,
      );
      await hold.release();
      expect(() => mutex.makeRevocable('listener' as never)).to.throw(TypeError, '`listener`');
    });
  });

  const calls: Record<string, (path: string) => Promise<unknown>> = {
    revoke: (path) => revoke(lab.client, path),
    forceRelease: (path) => forceRelease(lab.client, path, { timeoutMs: 1_000 }),
  };
  for (const [name, call] of Object.entries(calls))
    describe(name, () => {
      it('of a missing znode names it', async () => {
        const path = `${testPath('missing')}/_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-lock-0000000004`;
        const error = await rejection(call(path));
        expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
        expect(error.message).to.contain(path).and.to.contain('does not exist');
        expect(error.cause).to.have.property('code', 'NO_NODE');
      });

      it('of a znode that is no participant does not change it', async () => {
        await lab.observer.create(lab.path.slice(0, lab.path.lastIndexOf('/')));
        await lab.observer.create(lab.path);
        await lab.observer.write(lab.path, 'precious');
        const error = await rejection(call(lab.path));
        expect(error).to.have.property('code', 'ERR_LOCK_INVALID_PATH');
        expect(error.message).to.contain(lab.path);
        expect(await lab.observer.read(lab.path)).to.equal('precious');
      });

      it('with an invalid path, without a client or with a closed client sends nothing', async () => {
        expect((await rejection(call('lock'))).code).to.equal('ERR_LOCK_INVALID_PATH');
        expect((await rejection(call('/'))).code).to.equal('ERR_LOCK_INVALID_PATH');
        expect(await rejection(revoke(undefined as unknown as LockClient, '/lock'))).to.be.instanceOf(TypeError);
        await lab.client.close();
        expect((await rejection(call('/lock'))).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
      });

      it('repeats its request if the reply is lost', async () => {
        const { theirs } = lock('answer-lost');
        const hold = await theirs.acquire();
        hold.signal.addEventListener('abort', () => void hold.release());
        let isDone = false;
        lab.proxy.on((frame) => {
          if (isDone || !answered('setData', hold.path)(frame)) return undefined;
          isDone = true;
          return 'cut';
        });
        await call(hold.path);
        expect(isDone).to.equal(true);
        await hold.release();
      });
    });

  describe('forceRelease', () => {
    it('tells a holder that runs before the next one is granted, which waits for the release', async () => {
      const { mutex, theirs } = lock('told');
      const events: string[] = [];
      const stopped = gate();
      const holder = mutex.withLock(async (hold) => {
        const reason = await aborted(hold.signal);
        events.push('aborted');
        expect(reason).to.be.instanceOf(LockLostError).with.property('reason', 'forced');
        expect(hold.isValid).to.equal(false);
        await queueReaches(theirs, 2);
        await stopped.opened;
        events.push('stops');
      });
      await queueReaches(theirs, 1);
      const next = theirs.acquire().then((hold) => (events.push('granted'), hold));
      await queueReaches(theirs, 2);
      const [participant] = await theirs.participants();
      const forcing = forceRelease(lab.other, participant?.path ?? '', { timeoutMs: 10_000 });
      await until('the signal has aborted', () => events.length > 0);
      stopped.open();
      expect(await rejection(holder))
        .to.be.instanceOf(LockLostError)
        .with.property('reason', 'forced');
      expect(await forcing).to.equal('released');
      await (await next).release();
      expect(events).to.deep.equal(['aborted', 'stops', 'granted']);
      await until('no znode is left', async () => (await lab.observer.children(mutex.path)).length === 0);
    });

    it('deletes the znode of a holder that does not release in time, after its signal aborted', async () => {
      const { mutex, theirs } = lock('stubborn');
      const events: string[] = [];
      const hold = await mutex.acquire();
      hold.signal.addEventListener('abort', () => events.push('aborted'));
      const next = theirs.acquire().then((one) => (events.push('granted'), one));
      await queueReaches(theirs, 2);
      expect(await forceRelease(lab.other, hold.path, { timeoutMs: 1_500 })).to.equal('deleted');
      const granted = await next;
      expect(events).to.deep.equal(['aborted', 'granted']);
      // The session checks no hold any more, although the hold was not released.
      lab.proxy.clear();
      await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'multi' && frame.path === '/');
      expect(await hold.release()).to.equal('lost');
      expect(granted.isValid).to.equal(true);
      await granted.release();
      expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
    });

    it('learns of the release although its session has ended meanwhile', async () => {
      const { theirs } = lock('next-session');
      const hold = await theirs.acquire();
      const forcing = forceRelease(lab.client, hold.path, { timeoutMs: 60_000 });
      await lab.proxy.seen(answered('getData', hold.path));
      await lab.endSession();
      await until('the next session watches', () => lab.proxy.frames.filter(answered('getData', hold.path)).length > 1);
      const releasedAt = lab.now();
      await hold.release();
      expect(await forcing).to.equal('released');
      expect(lab.now() - releasedAt).to.be.below(1_000);
    });

    it('releases the lock of a holder that does not run', async () => {
      const { mutex, theirs } = lock('stopped');
      const hold = await mutex.acquire();
      await lab.proxy.seen(answered('getData', hold.path));
      lab.proxy.silence();
      const next = theirs.acquire();
      await queueReaches(theirs, 2);
      expect(await forceRelease(lab.other, hold.path, { timeoutMs: 1_500 })).to.equal('deleted');
      await (await next).release();
      lab.proxy.speak();
      expect(await aborted(hold.signal)).to.be.instanceOf(LockLostError);
      expect(await hold.release()).to.equal('lost');
    });

    it('with a timeout of 0 deletes at once', async () => {
      const { theirs } = lock('at-once');
      await using hold = await theirs.acquire();
      const forcedAt = lab.now();
      expect(await forceRelease(lab.client, hold.path, { timeoutMs: 0 })).to.equal('deleted');
      expect(lab.now() - forcedAt).to.be.below(1_000);
      expect(await lab.observer.exists(hold.path)).to.equal(false);
      await aborted(hold.signal);
    });

    it('says that the participant has released, if that comes between the mark and the delete', async () => {
      const { theirs } = lock('released-meanwhile');
      // Its session outlives the wait of its delete, however busy the machine is.
      await using client = await lab.connect({ sessionTimeoutMs: 30_000 }, lab.proxy.connectString);
      const hold = await theirs.acquire();
      const deletes = (frame: Frame): boolean => sent('delete')(frame) && frame.path === hold.path;
      once(lab.proxy, deletes, 'hold');
      const forcing = forceRelease(client, hold.path, { timeoutMs: 0 });
      await lab.proxy.seen(deletes);
      await hold.release();
      lab.proxy.speak();
      expect(await forcing).to.equal('released');
    });

    it('says that it has deleted the znode, also if the reply to its delete is lost', async () => {
      const { theirs } = lock('delete-lost');
      await using hold = await theirs.acquire();
      once(lab.proxy, answered('delete', hold.path), 'cut');
      expect(await forceRelease(lab.client, hold.path, { timeoutMs: 0 })).to.equal('deleted');
      expect(lab.proxy.frames.filter(({ op, path }) => op === 'delete' && path === hold.path)).to.have.length(4);
    });

    it('of several handles of one owner ends all of them, and the last one deletes the znode', async () => {
      const { mutex } = lock('handles');
      await lockContext.run(async () => {
        const holds = [await mutex.acquire(), await mutex.acquire()] as const;
        const losses = holds.map((hold) => aborted(hold.signal));
        const forcing = forceRelease(lab.other, holds[0].path);
        await Promise.all(losses);
        expect(await rejection(mutex.acquire())).to.be.instanceOf(LockLostError);
        expect(await holds[0].release()).to.equal('lost');
        expect(await lab.observer.exists(holds[1].path)).to.equal(true);
        expect(await holds[1].release()).to.equal('lost');
        expect(await forcing).to.equal('released');
      });
    });

    it('of a waiter sends it to the end of the queue', async () => {
      const { mutex, theirs } = lock('waiter');
      const first = await theirs.acquire();
      const waiting = mutex.acquire();
      await queueReaches(theirs, 2);
      const [, waiter] = await theirs.participants();
      expect(await forceRelease(lab.other, waiter?.path ?? '')).to.equal('released');
      await queueReaches(theirs, 2);
      await first.release();
      await using hold = await waiting;
      expect(hold.path).to.not.equal(waiter?.path);
    });

    it('writes its mark again if another mark has replaced it', async () => {
      const { theirs, mutex } = lock('overwritten');
      const hold = await mutex.acquire();
      await lab.proxy.seen(answered('getData', hold.path));
      // The holder gets no event until both marks are written.
      const marked = gate();
      lab.proxy.on((frame) =>
        frame.from === 'server' && frame.op === 'watch' ? { delayUntil: marked.opened } : undefined,
      );
      const forcing = forceRelease(lab.other, hold.path, { timeoutMs: 5_000 });
      await until('the znode is marked', async () => (await lab.observer.read(hold.path)) === '__FORCE__');
      await lab.observer.write(hold.path, '__REVOKE__');
      await until('the znode is marked again', async () => (await lab.observer.read(hold.path)) === '__FORCE__');
      marked.open();
      await aborted(hold.signal);
      await hold.release();
      expect(await forcing).to.equal('released');
      expect(await theirs.participants()).to.deep.equal([]);
    });

    it('whose wait is aborted leaves the znode to its owner', async () => {
      const { theirs } = lock('aborted');
      const hold = await theirs.acquire();
      const controller = new AbortController();
      const forcing = rejection(forceRelease(lab.client, hold.path, { signal: controller.signal }));
      await aborted(hold.signal);
      controller.abort(new Error('enough'));
      expect((await forcing).message).to.equal('enough');
      expect(await lab.observer.exists(hold.path)).to.equal(true);
      await hold.release();
      await until('no znode is left', async () => (await lab.observer.children(theirs.path)).length === 0);
    });

    it('whose deletion is aborted waits for no answer', async () => {
      const { theirs } = lock('deletion-aborted');
      await using hold = await theirs.acquire();
      const { opened, open } = gate();
      once(lab.proxy, answered('delete', hold.path), { delayUntil: opened });
      const controller = new AbortController();
      const forcing = rejection(forceRelease(lab.client, hold.path, { timeoutMs: 0, signal: controller.signal }));
      await lab.proxy.seen(({ op, path }) => op === 'delete' && path === hold.path);
      controller.abort(new Error('enough'));
      expect((await forcing).message).to.equal('enough');
      open();
    });

    it('that no server answers ends in time, and has marked nothing', async () => {
      const { theirs } = lock('no-answer');
      await using hold = await theirs.acquire();
      lab.proxy.silence();
      const error = await rejection(forceRelease(lab.client, hold.path, { timeoutMs: 50 }));
      expect(error).to.have.property('code', 'ERR_LOCK_TIMEOUT');
      expect(error.message).to.contain(hold.path).and.to.contain('not released within 50 ms');
      expect(hold.isValid).to.equal(true);
    });

    it('ignores a mark in the data that the znode was created with', async () => {
      const rw = new InterProcessReadWriteLock(lab.client, testPath('own-data'), { data: Buffer.from('__FORCE__') });
      const hold = await rw.writeLock.acquire();
      await hasRead(hold.path, '__FORCE__');
      expect(hold.isValid).to.equal(true);
      const forcing = forceRelease(lab.other, hold.path);
      expect(await aborted(hold.signal)).to.have.property('reason', 'forced');
      await hold.release();
      expect(await forcing).to.equal('released');
    });
  });

  it('overwrites the data of the znode, for every client', async () => {
    const { mutex, theirs } = lock('overwritten');
    await using hold = await mutex.acquire({ data: 'owner' });
    expect((await theirs.holder())?.owner?.pid).to.equal(process.pid);
    await revoke(lab.other, hold.path);
    for (const asker of [mutex, theirs]) {
      const holder = await asker.holder();
      expect([holder?.data.toString(), holder?.owner]).to.deep.equal(['__REVOKE__', undefined]);
    }
  });

  it('looks for the znode behind a sync, because its server may lag behind', async () => {
    const { theirs } = lock('behind-a-sync');
    await using hold = await theirs.acquire();
    lab.proxy.clear();
    await revoke(lab.client, hold.path);
    const asked = lab.proxy.frames.filter(({ from, path }) => from === 'client' && path === hold.path);
    expect(asked.map(({ op }) => op)).to.deep.equal(['sync', 'exists', 'setData']);
  });

  it('requests revocation of a znode that may be written and not read', async () => {
    const { mutex } = lock('unreadable');
    await (await mutex.acquire()).release();
    const onlyWrite = [{ permissions: 2, scheme: 'world', id: 'anyone' }];
    const { value } = await lab.other.session.request(
      createSequential(`${mutex.path}/_c_9d3a40af-0a1b-4c2d-8e3f-405162738495-lock-`, new Uint8Array(0), onlyWrite),
    );
    if (!virtualMachine && chosenVersion().existsNeedsRead) {
      const { cause } = await rejection(revoke(lab.client, value.path));
      expect(cause).to.include({ code: 'NO_AUTH', operation: 'exists' });
      return;
    }
    const version = async (): Promise<number> => (await lab.other.session.request(exists(value.path))).value.version;
    await revoke(lab.client, value.path);
    expect(await version()).to.equal(1);
  });

  describe('of a sticky lock', () => {
    const idle = async (
      name: string,
    ): Promise<{ mutex: InterProcessMutex; theirs: InterProcessMutex; path: string }> => {
      const { theirs } = lock(name);
      const mutex = new InterProcessMutex(lab.client, theirs.path, { sticky: { idleMs: 60_000 } });
      const hold = await mutex.acquire();
      await hold.release();
      await until('the sticky lock is idle', async () => (await theirs.participants())[0]?.isIdle === true);
      return { mutex, theirs, path: hold.path };
    };

    it('that is idle: the lock is given up at once', async () => {
      const asked = await idle('idle-asked');
      await revoke(lab.other, asked.path);
      await until(
        'the sticky lock is given up',
        async () => (await lab.observer.children(asked.theirs.path)).length === 0,
      );
      const taken = await idle('idle-taken');
      expect(await forceRelease(lab.other, taken.path, { timeoutMs: 5_000 })).to.equal('released');
    });

    it('that is idle, by forceRelease: no caller is granted its znode while that is deleted', async () => {
      const { mutex, path } = await idle('taken-idle');
      const deleted = lab.proxy.seen((frame) => sent('delete')(frame) && frame.path === path);
      const forcing = forceRelease(lab.other, path, { timeoutMs: 5_000 });
      await deleted;
      await using hold = await mutex.acquire();
      expect(hold.path).to.not.equal(path);
      expect(await forcing).to.equal('released');
    });

    it('that is held, by revoke: the listener is called, and the lock is not kept after the release', async () => {
      const { mutex, theirs, path } = await idle('asked');
      const { reach } = requests(mutex);
      const hold = await mutex.acquire();
      expect([hold.path, hold.grantNumber]).to.deep.equal([path, 1n]);
      await until('the idle mark is gone', async () => (await theirs.participants())[0]?.isIdle === false);
      await revoke(lab.other, path);
      await reach(1);
      expect(await hold.release()).to.equal('released');
      expect(await lab.observer.children(theirs.path)).to.deep.equal([]);
    });

    it('that is held, by forceRelease: the hold is lost, and local waiters queue up last', async () => {
      const { mutex, theirs, path } = await idle('taken');
      const events: string[] = [];
      const hold = await mutex.acquire();
      hold.signal.addEventListener('abort', () => events.push('aborted'));
      const waiting = mutex.acquire().then((one) => (events.push('waiter'), one));
      const next = theirs.acquire().then((one) => (events.push('granted'), one));
      await queueReaches(theirs, 2);
      const forcing = forceRelease(lab.other, path, { timeoutMs: 10_000 });
      await until('the signal has aborted', () => events.length > 0);
      await queueReaches(theirs, 3);
      expect(await hold.release()).to.equal('lost');
      expect(await forcing).to.equal('released');
      await (await next).release();
      await using last = await waiting;
      expect(events).to.deep.equal(['aborted', 'granted', 'waiter']);
      expect(last.path).to.not.equal(path);
    });
  });
});
