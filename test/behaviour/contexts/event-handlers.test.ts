import { expect } from 'chai';
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { InterProcessMutex, lockContext, type Hold } from '../../../src/index.ts';
import { innermostContext, type LockContext } from '../../../src/mutex/lock-context.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';
import { gate } from '../../../lab/gate.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';

describe('the handlers of a socket', () => {
  const lab = labOfEachTest('socket');
  let server: Server;
  let socket: Socket;
  let peer: Socket;

  beforeEach(async () => {
    server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(async () => {
    socket.destroy();
    peer.destroy();
    server.close();
    await once(server, 'close');
  });

  /** Every event of the socket inherits the context in which the socket was opened. */
  async function openSocket(): Promise<void> {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    [peer] = await accepted;
  }

  /** Resolves when the handlers of the message have been called. */
  async function deliver(message: string): Promise<void> {
    const arrived = once(socket, 'data');
    peer.write(message);
    await arrived;
  }

  it('opened inside a withLock that has settled, are separate owners', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    const contexts: (LockContext | undefined)[] = [];
    const owned: boolean[] = [];
    const handled: Promise<void>[] = [];
    const handle = async (): Promise<void> => {
      await using _hold = await lab.mutex.acquire();
      contexts.push(innermostContext());
      owned.push(lab.mutex.isOwnedByCurrentContext);
      await section.visit();
    };
    await lab.mutex.withLock(async () => {
      contexts.push(innermostContext());
      await openSocket();
      socket.on('data', () => handled.push(handle()));
    });
    for (const message of ['first', 'second', 'third']) await deliver(message);
    await Promise.all(handled);
    expect(section).to.deep.include({ visits: 3, most: 1 });
    expect(owned).to.deep.equal([false, false, false]);
    // Node passes the context of the withLock on to the handlers, but that context is dead.
    expect(contexts.map((context) => context?.isLive)).to.deep.equal([false, false, false, false]);
    expect(new Set(contexts).size).to.equal(1);
  });

  it('opened inside a lockContext.run that settled with an unreleased hold, do not share that hold', async () => {
    let left: Hold | undefined;
    const handled: Promise<Hold | undefined>[] = [];
    await lockContext.run(async () => {
      left = await lab.mutex.acquire();
      await openSocket();
      socket.on('data', () => handled.push(lab.mutex.tryAcquire()));
    });
    await deliver('anybody there?');
    expect(await Promise.all(handled)).to.deep.equal([undefined]);
    expect(await queueOf(lab.theirs)).to.deep.equal([left?.path]);
    expect(left?.isValid).to.equal(true);
    await left?.release();
  });

  it('opened inside a withLock that is still running, are that holder', async () => {
    await lab.mutex.withLock(async (hold) => {
      const handled: Promise<string>[] = [];
      await openSocket();
      socket.on('data', () => handled.push(lab.mutex.withLock(({ path }) => path)));
      for (const message of ['first', 'second']) await deliver(message);
      expect(await Promise.all(handled)).to.deep.equal([hold.path, hold.path]);
      expect(await queueOf(lab.theirs)).to.deep.equal([hold.path]);
    });
  });

  it('bound by lockContext.bind, are separate owners while the withLock around the socket runs', async () => {
    await lab.mutex.withLock(async (hold) => {
      const handled: Promise<Error & { code?: string }>[] = [];
      await openSocket();
      socket.on(
        'data',
        lockContext.bind(() => handled.push(rejection(lab.mutex.acquire({ timeoutMs: 0 })))),
      );
      await deliver('anybody there?');
      expect((await Promise.all(handled)).map(({ code }) => code)).to.deep.equal(['ERR_LOCK_TIMEOUT']);
      expect(hold.isValid).to.equal(true);
    });
  });
});

describe('a bound handler', () => {
  const lab = labOfEachTest('bind');

  /** Holds the lock twice, as one owner, while the other handlers wait. */
  async function handle(section: CriticalSection): Promise<void> {
    const outer = await lab.mutex.acquire();
    const inner = await lab.mutex.acquire();
    expect(inner.path).to.equal(outer.path);
    await section.visit();
    expect(await lab.mutex.release()).to.equal('released');
    expect(await lab.mutex.release()).to.equal('released');
  }

  it('is a new owner on each call, and re-entrant within the call', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    const emitter = new EventEmitter();
    const handled: Promise<void>[] = [];
    const bound = lockContext.bind(handle);
    emitter.on('message', () => handled.push(bound(section)));
    for (let message = 0; message < 3; message += 1) emitter.emit('message');
    await Promise.all(handled);
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('is a new owner on each call even if one context calls it repeatedly', async () => {
    const section = new CriticalSection(lab.theirs, 3);
    const bound = lockContext.bind(handle);
    await lockContext.run(() => Promise.all([bound(section), bound(section), bound(section)]));
    expect(section).to.deep.include({ visits: 3, most: 1 });
  });

  it('waits for the lock that the code around the call holds, and gets it afterwards', async () => {
    const emitter = new EventEmitter();
    const handled: Promise<bigint>[] = [];
    // The handler has a lock and a job of its own between the caller and the lock.
    const between = new InterProcessMutex(lab.client, `${lab.mutex.path}-between`);
    emitter.on(
      'changed',
      lockContext.bind(() =>
        handled.push(between.withLock(() => lab.mutex.withLock(({ fencingToken }) => fencingToken))),
      ),
    );
    const token = await lab.mutex.withLock(async (hold) => {
      emitter.emit('changed');
      await queueReaches(lab.theirs, 2);
      return hold.fencingToken;
    });
    const [later] = await Promise.all(handled);
    expect(later !== undefined && later > token).to.equal(true);
  });

  it('continues to wait after the context of its call has ended, if a job inside it awaits the lock', async () => {
    const { opened, open } = gate();
    let detached: Promise<boolean> | undefined;
    const call = lockContext.bind(() => {
      detached = opened.then(() => lockContext.run(() => lab.mutex.withLock((hold) => hold.isValid)));
    });
    await lab.mutex.withLock(async () => {
      call();
      open();
      await queueReaches(lab.theirs, 2);
    });
    expect(await detached).to.equal(true);
  });

  it('gets the deadlock error if its own job holds the lock and awaits it', async () => {
    const handled = lockContext.bind(() =>
      lab.mutex.withLock(() => lockContext.run(() => rejection(lab.mutex.acquire()))),
    )();
    expect((await handled).code).to.equal('ERR_LOCK_DEADLOCK');
  });

  it('gets its `this` and its arguments, and returns the result', () => {
    const counter = {
      count: 40,
      add: lockContext.bind(function (this: { count: number }, more: number, evenMore: number) {
        return this.count + more + evenMore;
      }),
    };
    expect(counter.add(1, 1)).to.equal(42);
  });

  it('must be a function', () => {
    expect(() => lockContext.bind('handler' as never)).to.throw(
      TypeError,
      'Expected `fn` of lockContext.bind to be a function',
    );
    expect(() => lockContext.run(undefined as never)).to.throw(
      TypeError,
      'Expected `fn` of lockContext.run to be a function',
    );
  });
});
