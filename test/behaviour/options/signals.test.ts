import { expect } from 'chai';
import {
  forceRelease,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessSemaphore,
  LockClient,
  watchQueue,
} from '../../../src/index.ts';
import { getChildren } from '../../../src/zookeeper/wire/operations.ts';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { OldSignal } from '../../../lab/old-signal.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';

describe('any signal', () => {
  let connectString: string;
  let client: LockClient;
  let other: LockClient;

  before(async () => {
    ({ connectString } = await sharedZooKeeper());
    [client, other] = await Promise.all([LockClient.connect(connectString), LockClient.connect(connectString)]);
  });

  after(() => Promise.all([client.close(), other.close()]));

  /** Calls of locks that wait, on a path that another client holds. */
  const calls: [string, (path: string, signal: AbortSignal) => Promise<unknown>][] = [
    ['a mutex', (path, signal) => new InterProcessMutex(client, path).acquire({ signal })],
    [
      'a sticky mutex',
      (path, signal) => new InterProcessMutex(client, path, { sticky: { idleMs: 10 } }).acquire({ signal }),
    ],
    [
      'a tryAcquire of a mutex',
      (path, signal) => new InterProcessMutex(client, path).tryAcquire({ signal, timeoutMs: 60_000 }),
    ],
    [
      'a withLock of a mutex',
      (path, signal) => new InterProcessMutex(client, path).withLock(() => undefined, { signal }),
    ],
    [
      'a multi-lock',
      (path, signal) => new InterProcessMultiLock([new InterProcessMutex(client, path)]).acquire({ signal }),
    ],
  ];

  const childrenOf = async (path: string): Promise<string[]> => (await other.session.request(getChildren(path))).value;

  for (const [lock, acquire] of calls) {
    it(`ends the wait for ${lock} with Node's AbortError if it gives no reason`, async () => {
      const path = testPath('old-signal');
      await using hold = await new InterProcessMutex(other, path).acquire();
      const old = new OldSignal();
      const waiting = rejection(acquire(path, old.signal));
      await until('the waiter is queued', async () => (await childrenOf(path)).length === 2);
      old.abort();
      expect(await waiting)
        .to.be.instanceOf(DOMException)
        .with.property('name', 'AbortError');
      await until('the znode of the waiter is gone', async () => (await childrenOf(path)).length === 1);
      expect([old.listeners.size, hold.isValid]).to.deep.equal([0, true]);
    });

    it(`that has already aborted is refused by ${lock}, and nothing is sent`, async () => {
      const path = testPath('old-signal');
      const old = new OldSignal();
      old.abort();
      expect(await rejection(acquire(path, old.signal))).to.have.property('name', 'AbortError');
      expect(await rejection(childrenOf(path))).to.have.property('code', 'NO_NODE');
    });

    it(`that aborts while ${lock} adds its listener ends the call, and nothing is sent`, async () => {
      const path = testPath('old-signal');
      const old = new OldSignal();
      old.onListen = () => (old.aborted = true);
      expect(await rejection(acquire(path, old.signal))).to.have.property('name', 'AbortError');
      expect(await rejection(childrenOf(path))).to.have.property('code', 'NO_NODE');
      expect(old.listeners.size).to.equal(0);
    });

    it(`that throws on a listener ends the call of ${lock} with the error, and nothing is sent`, async () => {
      const path = testPath('old-signal');
      const broken = new Error('no listeners');
      const old = new OldSignal();
      old.onListen = () => {
        throw broken;
      };
      expect(await rejection(acquire(path, old.signal))).to.equal(broken);
      expect(await rejection(childrenOf(path))).to.have.property('code', 'NO_NODE');
    });
  }

  it('ends the wait for a semaphore and leaves no znode', async () => {
    for (const end of [
      (old: OldSignal) => old.abort(),
      (old: OldSignal) => (old.onListen = () => (old.aborted = true)),
    ]) {
      const path = testPath('old-signal');
      const old = new OldSignal();
      end(old);
      expect(
        await rejection(new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire({ signal: old.signal })),
      ).to.have.property('name', 'AbortError');
      expect(await rejection(childrenOf(path))).to.have.property('code', 'NO_NODE');
    }
  });

  it('that throws on a listener prevents a re-entry, as an aborted signal does', async () => {
    const mutex = new InterProcessMutex(client, testPath('old-signal'));
    const broken = new Error('no listeners');
    const old = new OldSignal();
    old.onListen = () => {
      throw broken;
    };
    await mutex.withLock(async () => expect(await rejection(mutex.acquire({ signal: old.signal }))).to.equal(broken));
  });

  it('ends a connection attempt, whenever it aborts, and also if it throws on a listener', async () => {
    // No server answers at this address: it is reserved for documentation.
    const connect = (old: OldSignal): Promise<Error> =>
      rejection(LockClient.connect('192.0.2.1:2181', { signal: old.signal, connectionTimeoutMs: 600_000 }));
    const [later, between, before, broken] = [new OldSignal(), new OldSignal(), new OldSignal(), new OldSignal()];
    between.onListen = () => (between.aborted = true);
    before.abort();
    broken.onListen = () => {
      throw new Error('no listeners');
    };
    const aborted = [connect(later), connect(later)];
    // Node warns of a leak from the eleventh listener of a signal on.
    expect(later.listeners.size).to.equal(1);
    later.abort();
    for (const error of [...(await Promise.all(aborted)), await connect(between), await connect(before)])
      expect(error).to.have.property('name', 'AbortError');
    expect(await connect(broken)).to.have.property('message', 'no listeners');
    expect(later.listeners.size).to.equal(0);
  });

  it('that throws ends a forced release, and the holder keeps the lock', async () => {
    await using hold = await new InterProcessMutex(other, testPath('old-signal')).acquire();
    const broken = new OldSignal();
    broken.onListen = () => {
      throw new Error('no listeners');
    };
    expect(await rejection(forceRelease(client, hold.path, { signal: broken.signal }))).to.have.property(
      'message',
      'no listeners',
    );
    expect(hold.isValid).to.equal(true);
  });

  it('ends a watched queue, and makes it fail if it throws on a listener', async () => {
    const path = testPath('old-signal');
    const old = new OldSignal();
    const queues = watchQueue(client, path, { signal: old.signal });
    expect((await queues.next()).done).to.equal(false);
    old.abort();
    expect((await queues.next()).done).to.equal(true);
    const broken = new OldSignal();
    broken.onListen = () => {
      throw new Error('no listeners');
    };
    expect(await rejection(watchQueue(client, path, { signal: broken.signal }).next())).to.have.property(
      'message',
      'no listeners',
    );
  });

  it('is refused by every call if it is null', async () => {
    const signal = null as never;
    const path = testPath('null');
    const message = 'Expected `signal` to be an AbortSignal, got null';
    for (const [, acquire] of calls)
      expect(await rejection(acquire(path, signal)))
        .to.be.instanceOf(TypeError)
        .with.property('message', message);
    expect(await rejection(LockClient.connect(connectString, { signal })))
      .to.be.instanceOf(TypeError)
      .with.property('message', message);
    expect(await rejection(forceRelease(client, path, { signal })))
      .to.be.instanceOf(TypeError)
      .with.property('message', message);
    expect(() => watchQueue(client, path, { signal })).to.throw(TypeError, message);
  });
});
