import { expect } from 'chai';
import { InterProcessMutex, ZooKeeperError, type Hold, type LockLostError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { account, anyone, creatorOnly, digest, permission, type Account } from '../../../lab/wire/account.ts';
import { codeMs } from '../../../lab/world.ts';

const alice = digest('alice:open sesame');

describe('another account', () => {
  const lab = labOfEachTest('other-accounts', { client: 'none' });
  let holder: Account;
  let waiter: Account;

  afterEach(() => Promise.all([holder.client.close(), waiter.client.close()]));

  interface Scene {
    readonly path: string;
    readonly hold: Hold;
    readonly waiting: Promise<Hold>;
    /** The waiter's znode. */
    readonly waitingPath: string;
    /** The znodes that were granted the lock, in order. */
    readonly granted: readonly string[];
  }

  /** One client holds the lock and another client waits for it. */
  const scene = async (options: Parameters<typeof account>[1]): Promise<Scene> => {
    holder = await account(lab.connectString, { sessionTimeoutMs: 60_000, ...options });
    waiter = await account(lab.connectString, { sessionTimeoutMs: 60_000, ...options });
    const path = testPath('guarded');
    const mutex = new InterProcessMutex(holder.client, path);
    const hold = await mutex.acquire();
    const granted = [hold.path];
    const waiting = new InterProcessMutex(waiter.client, path).acquire();
    void waiting.then(
      (next) => granted.push(next.path),
      () => undefined,
    );
    // Asked by the waiter's own client, which gets its answers in order: then the waiter knows its place, too.
    const sameLock = new InterProcessMutex(waiter.client, path);
    await until('the waiter is queued', async () => (await sameLock.participants()).length === 2);
    const waitingPath = (await sameLock.participants())[1]?.path ?? '';
    return { path, hold, waiting, waitingPath, granted };
  };

  /** Checks that the queue has not changed: the holder holds, and the waiter with its znode is next. */
  const undisturbed = async ({ path, hold, waiting, waitingPath, granted }: Scene): Promise<void> => {
    // A server sends pending watch events before it answers the client's next request.
    for (const each of [holder, waiter])
      expect((await each.children(path)).map((name) => `${path}/${name}`)).to.have.members([hold.path, waitingPath]);
    expect(hold.isValid).to.equal(true);
    expect(granted).to.deep.equal([hold.path]);
    expect(await hold.release()).to.equal('released');
    const next = await waiting;
    expect(next.path).to.equal(waitingPath);
    expect(await next.release()).to.equal('released');
  };

  const refused = async (doing: Promise<unknown>): Promise<void> => {
    expect(await rejection(doing))
      .to.be.instanceOf(ZooKeeperError)
      .with.property('code', 'NO_AUTH');
  };

  const refusedAsLock = async (doing: Promise<unknown>, path: string): Promise<void> => {
    const error = await rejection(doing);
    expect(error.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain(path);
    expect(error.cause).to.be.instanceOf(ZooKeeperError).with.property('code', 'NO_AUTH');
  };

  for (const [who, auth] of [
    ['without credentials', []],
    ['with other credentials', [digest('mallory:open barley')]],
  ] as const)
    describe(`${who}, at a lock with the scheme auth`, () => {
      let mallory: Account;
      let guarded: Scene;

      beforeEach(async () => {
        mallory = await account(lab.connectString, { auth });
        guarded = await scene({ auth: [alice], acl: creatorOnly });
      });

      afterEach(() => mallory.client.close());

      it('cannot read the queue', async () => {
        await refused(mallory.children(guarded.path));
        await refused(mallory.read(guarded.hold.path));
        await refusedAsLock(new InterProcessMutex(mallory.client, guarded.path).participants(), guarded.path);
        await undisturbed(guarded);
      });

      it('cannot create a znode below it', async () => {
        await refused(mallory.create(`${guarded.path}/in-the-way`));
        await undisturbed(guarded);
      });

      it("cannot delete the holder's znode", async () => {
        await refused(mallory.remove(guarded.hold.path));
        await undisturbed(guarded);
      });

      it("cannot delete a waiter's znode", async () => {
        await refused(mallory.remove(guarded.waitingPath));
        await undisturbed(guarded);
      });

      it("cannot set the data of the queue's znodes", async () => {
        await refused(mallory.write(guarded.hold.path, '__REVOKE__'));
        await refused(mallory.write(guarded.waitingPath, '__REVOKE__'));
        expect(await holder.read(guarded.hold.path)).not.to.equal('__REVOKE__');
        await undisturbed(guarded);
      });

      it('cannot acquire the lock, with or without waiting', async () => {
        const mutex = new InterProcessMutex(mallory.client, guarded.path);
        await refusedAsLock(mutex.acquire(), guarded.path);
        await refusedAsLock(mutex.acquire({ timeoutMs: 5_000 }), guarded.path);
        await refusedAsLock(mutex.tryAcquire(), guarded.path);
        await refusedAsLock(mutex.tryAcquire(5_000), guarded.path);
        await undisturbed(guarded);
      });
    });

  describe('at an open lock', () => {
    let visitor: Account;
    let open: Scene;

    beforeEach(async () => {
      visitor = await account(lab.connectString);
      open = await scene({ auth: [alice] });
    });

    afterEach(() => visitor.client.close());

    it('reads the queue', async () => {
      const queue = await new InterProcessMutex(visitor.client, open.path).participants();
      expect(queue.map((participant) => participant.path)).to.deep.equal([open.hold.path, open.waitingPath]);
      await undisturbed(open);
    });

    it('creates a znode below it: holder and waiter are not affected, a new caller is refused', async () => {
      await visitor.create(`${open.path}/in-the-way`);
      const error = await rejection(new InterProcessMutex(holder.client, open.path).acquire());
      expect(error.code).to.equal('ERR_LOCK_FOREIGN_NODE');
      expect(error.message).to.contain('in-the-way');
      expect(open.hold.isValid).to.equal(true);
      expect(await open.hold.release()).to.equal('released');
      expect((await open.waiting).path).to.equal(open.waitingPath);
      await (await open.waiting).release();
      await visitor.remove(`${open.path}/in-the-way`);
    });

    it("deletes the holder's znode: the holder gets the loss, and the waiter gets the lock", async () => {
      const removedAt = lab.now();
      await visitor.remove(open.hold.path);
      await aborted(open.hold.signal);
      expect(lab.now() - removedAt).to.be.below(10 + codeMs);
      expect((open.hold.signal.reason as LockLostError).reason).to.equal('node-deleted');
      await using next = await open.waiting;
      expect(next.path).to.equal(open.waitingPath);
      expect(await open.hold.release()).to.equal('lost');
      expect(next.isValid).to.equal(true);
    });

    it("deletes a waiter's znode: the waiter queues up again, and the holder keeps the lock", async () => {
      await visitor.remove(open.waitingPath);
      await until('the waiter is queued again', async () => (await visitor.children(open.path)).length === 2);
      expect(open.hold.isValid).to.equal(true);
      expect(await open.hold.release()).to.equal('released');
      expect((await open.waiting).path).not.to.equal(open.waitingPath);
      await (await open.waiting).release();
    });

    it("sets the data of the queue's znodes repeatedly: no client gains or loses anything", async () => {
      await settingData();
      await undisturbed(open);
    });

    it('sets the data and then deletes the znodes: the clients react as to a deletion alone', async () => {
      await settingData();
      await visitor.remove(open.waitingPath);
      await until('the waiter is queued again', async () => (await visitor.children(open.path)).length === 2);
      const removedAt = lab.now();
      await visitor.remove(open.hold.path);
      await aborted(open.hold.signal);
      expect(lab.now() - removedAt).to.be.below(10 + codeMs);
      expect((await open.waiting).path).not.to.equal(open.waitingPath);
      await (await open.waiting).release();
    });

    const settingData = async (): Promise<void> => {
      const mutex = new InterProcessMutex(visitor.client, open.path);
      for (const data of ['__REVOKE__', 'once more', '']) {
        await visitor.write(open.hold.path, data);
        await visitor.write(open.waitingPath, data);
        await Promise.all([holder.children(open.path), waiter.children(open.path)]);
        expect((await mutex.participants()).map((participant) => participant.data.toString())).to.deep.equal([
          data,
          data,
        ]);
      }
    };

    it('acquires the lock in its turn', async () => {
      const mutex = new InterProcessMutex(visitor.client, open.path);
      expect(await mutex.tryAcquire()).to.equal(undefined);
      const order: string[] = [];
      const third = mutex.acquire();
      for (const [name, one] of [
        ['waiter', open.waiting],
        ['visitor', third],
      ] as const)
        void one.then(() => order.push(name));
      await until('the waiter is queued', async () => (await mutex.participants()).length === 3);
      expect(order).to.deep.equal([]);
      await open.hold.release();
      await (await open.waiting).release();
      expect((await third).isValid).to.equal(true);
      expect(order).to.deep.equal(['waiter', 'visitor']);
      await (await third).release();
    });
  });

  it('that may only create fails, and its znode is deleted with its session at the latest', async () => {
    const options = { auth: [alice], acl: [...creatorOnly, anyone(permission.create)] };
    const guarded = await scene(options);
    const warnings: string[] = [];
    const mallory = await account(lab.connectString, {
      logger: { warn: (_details, message) => void warnings.push(message) },
    });
    await refusedAsLock(new InterProcessMutex(mallory.client, guarded.path).acquire(), guarded.path);
    await until('the failed delete is logged', () => warnings.length > 0);
    expect(warnings[0]).to.contain(guarded.path);
    await mallory.client.close();
    await undisturbed(guarded);
  });
});
