import { expect } from 'chai';
import { retryNTimes } from '../../src/index.ts';
import { systemClock } from '../../src/support/clock.ts';
import { answered, once, sent } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection, until } from '../../lab/until.ts';
import { type Frame, type FrameAction } from '../../lab/proxy/zk-proxy.ts';
import { gate } from '../../lab/gate.ts';

const sessionTimeoutMs = 2_000;

describe('a grant', () => {
  const lab = labOfEachTest('grants', {
    server: 'own',
    proxy: true,
    client: { sessionTimeoutMs, retryPolicy: retryNTimes(3, 10) },
  });

  beforeEach(async () => {
    await (await lab.mutex.acquire()).release();
    await lab.proxy.seen(answered('delete'));
    lab.proxy.clear();
  });

  /** Cuts the connection at this frame, and refuses the next one until `proxy.accept()`. */
  const disconnect = (): FrameAction => {
    void lab.proxy.refuse();
    return 'cut';
  };

  /** Delays the reply to a create until the session needs a new proof before a grant, and then delays that proof. */
  const heldBack = async <T>(
    acquire: () => Promise<T>,
    beforeProof: () => Promise<void> = () => Promise.resolve(),
  ): Promise<{ acquiring: Promise<T>; name: string }> => {
    const created = gate();
    once(lab.proxy, answered('create2'), { delayUntil: created.opened });
    const acquiring = acquire();
    await lab.queueReaches(1);
    const [name = ''] = await lab.observer.children(lab.path);
    await until(
      'the session must prove itself',
      () => lab.client.session.deadline - systemClock.now() < sessionTimeoutMs / 4,
    );
    once(lab.proxy, answered('multi'), 'hold');
    await beforeProof();
    created.open();
    await lab.proxy.seen(sent('getData'));
    return { acquiring, name };
  };

  it('is discarded if the session ends during its proof: the next session queues up again', async () => {
    const { acquiring, name } = await heldBack(
      () => lab.mutex.acquire(),
      // The client must not prove its session on another connection before the session has ended.
      () => lab.proxy.refuse(),
    );
    await lab.observer.endSession(lab.client);
    lab.proxy.cut();
    await lab.proxy.accept();
    await using hold = await acquiring;
    expect(hold.isValid).to.equal(true);
    expect(hold.path).not.to.contain(name);
  });

  it('is not based on a list older than its znode: the client lists again after a sync', async () => {
    once(lab.proxy, answered('getChildren2'), ({ body }) => {
      body.writeBigInt64BE(1n, 4);
      return 'pass';
    });
    await using _hold = await lab.mutex.acquire();
    const asked = lab.proxy.frames
      .filter((frame) => frame.from === 'client' && frame.path === lab.path)
      .map(({ op }) => op);
    expect(asked).to.deep.equal(['getChildren2', 'sync', 'getChildren2']);
  });

  it('is never made for a znode of another session, whatever its name: the client deletes that znode', async () => {
    let lost: Frame | undefined;
    once(lab.proxy, sent('create2'), (frame) => {
      lost = frame;
      return disconnect();
    });
    const acquiring = lab.mutex.acquire();
    await until('the create is lost', () => lost !== undefined);
    const theirs = `${lost?.path ?? ''}0000000000`;
    await lab.observer.create(theirs);
    await lab.proxy.accept();
    await using hold = await acquiring;
    expect(hold.path).not.to.equal(theirs);
    await until('the znode of the other session is deleted', async () => !(await lab.observer.exists(theirs)));
    expect(hold.isValid).to.equal(true);
  });

  it('is released if the caller aborts in the same moment', async () => {
    const controller = new AbortController();
    const reason = new Error('changed my mind');
    const { session } = lab.client;
    const hold = session.hold.bind(session);
    session.hold = (holding) => {
      hold(holding);
      controller.abort(reason);
    };
    expect(await rejection(lab.mutex.acquire({ signal: controller.signal }))).to.equal(reason);
    await lab.queueReaches(0);
  });

  describe('is not waited for by tryAcquire', () => {
    const expectTaken = async (trying: Promise<unknown>): Promise<void> => {
      expect(await trying).to.equal(undefined);
      expect(lab.client.session.isConnected).to.equal(false);
      await lab.proxy.accept();
      await lab.queueReaches(0);
    };

    it('when the connection is lost before the list is answered', async () => {
      once(lab.proxy, answered('getChildren2'), disconnect);
      await expectTaken(lab.mutex.tryAcquire());
    });

    it('when the connection is lost before the create is answered', async () => {
      once(lab.proxy, answered('create2'), disconnect);
      await expectTaken(lab.mutex.tryAcquire());
    });

    it('when the connection is lost before the place in the queue is known', async () => {
      once(lab.proxy, answered('create2'), () => {
        once(lab.proxy, answered('getChildren2'), disconnect);
        return 'pass';
      });
      await expectTaken(lab.mutex.tryAcquire());
    });

    it('when the connection is lost before the session is proven', async () => {
      const { acquiring } = await heldBack(
        () => lab.mutex.tryAcquire(),
        () => lab.proxy.refuse(),
      );
      lab.proxy.cut();
      await expectTaken(acquiring);
    });
  });

  describe('after a lost create', () => {
    beforeEach(() => once(lab.proxy, answered('create2'), 'cut'));

    it('is searched behind its own quorum write, because the earlier heartbeat may have been refused', async () => {
      await using _hold = await lab.mutex.acquire();
      const again = lab.proxy.frames.findLast(sent('connect'))?.connection;
      const ops = lab.proxy.frames
        .filter((frame) => frame.from === 'client' && frame.connection === again)
        .map(({ op }) => op);
      expect(ops.slice(0, ops.indexOf('getChildren2'))).to.deep.equal(['connect', 'multi', 'multi']);
    });

    it('is searched in a list behind that write also if the server put the write off', async () => {
      let writes = 0;
      lab.proxy.on((frame) => (sent('multi')(frame) && (writes += 1) === 2 ? { refuse: -127 } : undefined));
      await using _hold = await lab.mutex.acquire();
      const again = lab.proxy.frames.findLast(sent('connect'))?.connection;
      const ops = lab.proxy.frames
        .filter((frame) => frame.from === 'client' && frame.connection === again && frame.op !== 'sync')
        .map(({ op }) => op);
      const search = ['multi', 'getChildren2'];
      expect(ops.slice(0, ops.indexOf('exists'))).to.deep.equal(['connect', 'multi', ...search, ...search]);
    });

    it('is searched again if the server failed to answer, and uses the znode that was created', async () => {
      once(lab.proxy, sent('create2'), () => {
        once(lab.proxy, answered('multi'), { replaceError: -118 });
        return 'pass';
      });
      await using hold = await lab.mutex.acquire();
      expect(hold.path.slice(-10)).to.equal('0000000001');
      expect(await lab.observer.children(lab.path)).to.have.length(1);
    });

    for (const op of ['getChildren2', 'exists'] as const)
      it(`is an error if the search is refused (${op}), and leaves no znode`, async () => {
        once(lab.proxy, sent('create2'), () => {
          once(lab.proxy, answered(op), { replaceError: -102 });
          return 'pass';
        });
        const error = await rejection(lab.mutex.acquire());
        expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
        expect(error.cause).to.have.property('code', 'NO_AUTH');
        await lab.queueReaches(0);
      });
  });
});
