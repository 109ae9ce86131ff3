import { expect } from 'chai';
import { InterProcessMutex, LockClient, retryNTimes } from '../../src/index.ts';
import { systemClock } from '../../src/client/clock.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { rejection, until } from '../support/until.ts';
import { startProxy, type Frame, type FrameAction, type ZkProxy } from '../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../support/zookeeper-server.ts';
import { gate } from './contexts/lock-of-each-test.ts';

const sessionTimeoutMs = 2_000;

const sent = (op: Frame['op']) => (frame: Frame): boolean => frame.from === 'client' && frame.op === op;
const answered = (op: Frame['op']) => (frame: Frame): boolean => frame.from === 'server' && frame.op === op;

describe('a grant', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: LockClient;
  let outside: Stranger;
  let path: string;
  let mutex: InterProcessMutex;

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    proxy = await startProxy(server.port);
    client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs, retryPolicy: retryNTimes(3, 10) });
    path = testPath('grants');
    mutex = new InterProcessMutex(client, path);
    await (await mutex.acquire()).release();
    await proxy.seen(answered('delete'));
    proxy.clear();
  });

  afterEach(async () => {
    await client.close({ timeoutMs: 500 });
    await proxy.close();
  });

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  /** Does something to the first frame that matches, and to no other. */
  const once = (match: (frame: Frame) => boolean, act: FrameAction | ((frame: Frame) => FrameAction)): void => {
    const stop = proxy.on((frame) => {
      if (!match(frame)) return undefined;
      stop();
      return typeof act === 'function' ? act(frame) : act;
    });
  };

  const queueIs = (length: number): Promise<void> =>
    until(`${length} are in the queue`, async () => (await outside.children(path)).length === length);

  /** Cuts the connection there, and refuses the next one until `proxy.accept()`. */
  const disconnect = (): FrameAction => {
    void proxy.refuse();
    return 'cut';
  };

  /** Holds the answer to a create back until the session has to prove itself before a grant, and then the proof. */
  const heldBack = async <T>(acquire: () => Promise<T>): Promise<{ acquiring: Promise<T>; name: string }> => {
    const created = gate();
    once(answered('create2'), { delayUntil: created.opened });
    const acquiring = acquire();
    await queueIs(1);
    const [name = ''] = await outside.children(path);
    await until('the session must prove itself', () => client.session.deadline - systemClock.now() < sessionTimeoutMs / 4);
    once(answered('multi'), 'hold');
    created.open();
    await proxy.seen(sent('getData'));
    return { acquiring, name };
  };

  it('whose session ends while it proves itself is none: the next session queues up again', async () => {
    const { acquiring, name } = await heldBack(() => mutex.acquire());
    await outside.endSession(client);
    proxy.cut();
    const hold = await acquiring;
    expect(hold.isValid).to.equal(true);
    expect(hold.path).not.to.contain(name);
    await hold.release();
  });

  it('is not made by a list that is older than its znode, but by a newer one behind a sync', async () => {
    once(answered('getChildren2'), ({ body }) => {
      body.writeBigInt64BE(1n, 4);
      return 'pass';
    });
    const hold = await mutex.acquire();
    const asked = proxy.frames.filter((frame) => frame.from === 'client' && frame.path === path).map(({ op }) => op);
    expect(asked).to.deep.equal(['getChildren2', 'sync', 'getChildren2']);
    await hold.release();
  });

  it('is not made for a znode of another session, whatever its name: that is deleted', async () => {
    let lost: Frame | undefined;
    once(sent('create2'), (frame) => {
      lost = frame;
      return disconnect();
    });
    const acquiring = mutex.acquire();
    await until('the create is lost', () => lost !== undefined);
    const theirs = `${lost?.path ?? ''}0000000000`;
    await outside.create(theirs);
    await proxy.accept();
    const hold = await acquiring;
    expect(hold.path).not.to.equal(theirs);
    await until('theirs is gone', async () => !(await outside.exists(theirs)));
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });

  it('in whose very moment the caller gives up is released', async () => {
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const { session } = client;
    const hold = session.hold.bind(session);
    session.hold = (holding) => {
      hold(holding);
      controller.abort(reason);
    };
    expect(await rejection(mutex.acquire({ signal: controller.signal }))).to.equal(reason);
    await queueIs(0);
  });

  describe('is not waited for by tryAcquire', () => {
    const expectTaken = async (trying: Promise<unknown>): Promise<void> => {
      expect(await trying).to.equal(undefined);
      expect(client.session.isConnected).to.equal(false);
      await proxy.accept();
      await queueIs(0);
    };

    it('when the connection is lost before it knows who is there', async () => {
      once(answered('getChildren2'), disconnect);
      await expectTaken(mutex.tryAcquire());
    });

    it('when the connection is lost before its create is answered', async () => {
      once(answered('create2'), disconnect);
      await expectTaken(mutex.tryAcquire());
    });

    it('when the connection is lost before its place is known', async () => {
      once(answered('create2'), () => {
        once(answered('getChildren2'), disconnect);
        return 'pass';
      });
      await expectTaken(mutex.tryAcquire());
    });

    it('when the connection is lost before the session has proven itself', async () => {
      const { acquiring } = await heldBack(() => mutex.tryAcquire());
      await proxy.refuse();
      proxy.cut();
      await expectTaken(acquiring);
    });
  });

  describe('after a lost create', () => {
    beforeEach(() => once(answered('create2'), 'cut'));

    it('is searched behind a quorum write of its own: the heartbeat before it may have been refused', async () => {
      const hold = await mutex.acquire();
      const again = proxy.frames.find(sent('connect'))?.connection;
      const ops = proxy.frames.filter((frame) => frame.from === 'client' && frame.connection === again).map(({ op }) => op);
      expect(ops.slice(0, ops.indexOf('getChildren2'))).to.deep.equal(['connect', 'multi', 'multi']);
      await hold.release();
    });

    it('is searched again when the server could not say, and is the one that was created', async () => {
      once(sent('create2'), () => {
        once(answered('multi'), { replaceError: -118 });
        return 'pass';
      });
      const hold = await mutex.acquire();
      expect(hold.path.slice(-10)).to.equal('0000000001');
      expect(await outside.children(path)).to.have.length(1);
      await hold.release();
    });

    for (const op of ['getChildren2', 'exists'] as const) {
      it(`is an error where the search is refused (${op}), and no znode stays`, async () => {
        once(sent('create2'), () => {
          once(answered(op), { replaceError: -102 });
          return 'pass';
        });
        const error = await rejection(mutex.acquire());
        expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
        expect(error.cause).to.have.property('code', 'NO_AUTH');
        await queueIs(0);
      });
    }
  });
});
