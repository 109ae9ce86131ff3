import { expect } from 'chai';
import { InterProcessReadWriteLock, lockContext, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { downgradesAtItsPlace } from '../../lab/programs/interop/curator.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import type { Owner, Peer } from '../../lab/programs/interop/peer.ts';
import { peersOfSuite, startNode } from '../../lab/programs/interop/peers.ts';

describe('a read/write lock that is shared with Java Curator', () => {
  const lab = labOfEachTest('read-write');
  const suite = peersOfSuite('java');
  let rw: InterProcessReadWriteLock;

  beforeEach(() => void (rw = new InterProcessReadWriteLock(lab.client, lab.path)));

  it('no reader of either sees a write, and no write is lost', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using node = await startNode();
    const work = (peer: Peer, kind: string): Promise<void>[] => {
      return [1, 2, 3, 4].map((number) => peer.owner(`${kind}-${number}`).work(kind, lab.path, ledger.folder, 40));
    };
    await Promise.all([
      ...work(suite.java, 'read'),
      ...work(suite.java, 'write'),
      ...work(node, 'read'),
      ...work(node, 'write'),
    ]);
    expect(ledger.count).to.equal(320);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('readers of both hold together; a writer of either waits for all of them, and later readers of either wait behind it', async () => {
    const [reader, writer, late] = ['reader', 'writer', 'late'].map((name) => suite.java.owner(name)) as [
      Owner,
      Owner,
      Owner,
    ];
    const ours = await rw.readLock.acquire();
    await reader.acquire('read', lab.path);

    const order: string[] = [];
    const theirWrite = writer.acquire('write', lab.path).then(() => {
      order.push('their writer');
      return writer.release('write', lab.path);
    });
    await lab.queueReaches(3);
    const ourRead = rw.readLock.withLock(() => order.push('our reader'));
    await lab.queueReaches(4);
    const ourWrite = rw.writeLock.withLock(() => order.push('our writer'));
    await lab.queueReaches(5);
    const theirRead = late.acquire('read', lab.path).then(() => {
      order.push('their reader');
      return late.release('read', lab.path);
    });
    await lab.queueReaches(6);

    await ours.release();
    await lab.queueReaches(5);
    expect(order, 'their first reader still holds').to.deep.equal([]);
    await reader.release('read', lab.path);
    await Promise.all([theirWrite, ourRead, ourWrite, theirRead]);
    expect(order).to.deep.equal(['their writer', 'our reader', 'our writer', 'their reader']);
  });

  it('neither gets the write lock by a try while the other one reads, and a failed try leaves no znode', async () => {
    const thread = suite.java.owner('main');
    const ours = await rw.readLock.acquire();
    expect(await thread.acquire('write', lab.path, 50)).to.equal(null);
    expect(await lab.observer.children(lab.path)).to.have.length(1);
    await thread.acquire('read', lab.path);
    await ours.release();
    expect(await rw.writeLock.tryAcquire()).to.equal(undefined);
    expect(await rw.writeLock.tryAcquire(50)).to.equal(undefined);
    await lab.queueReaches(1);
    await thread.release('read', lab.path);
  });

  describe('our writer that downgrades', () => {
    it("is a reader at once, lets Java's readers hold too, and excludes Java's later writers", async () => {
      const writer = suite.java.owner('writer');
      const [writing, reading] = await lockContext.run(async (): Promise<[Hold, Hold]> => {
        const hold = await rw.writeLock.acquire();
        return [hold, await rw.readLock.acquire()];
      });
      await lab.queueReaches(2);
      expect(await suite.java.owner('reader').acquire('read', lab.path, 50), 'while we write').to.equal(null);
      await writing.release();
      expect(await suite.java.owner('reader').acquire('read', lab.path)).to.equal(true);
      await suite.java.owner('reader').release('read', lab.path);
      expect(await writer.acquire('write', lab.path, 50), 'while we read').to.equal(null);
      await reading.release();
      expect(await writer.acquire('write', lab.path)).to.equal(true);
      await writer.release('write', lab.path);
    });

    it("goes before Java's writer that was already waiting", async () => {
      const writer = suite.java.owner('writer');
      await lockContext.run(async () => {
        const writing = await rw.writeLock.acquire();
        // Long enough that it still waits when a busy machine asks for the participants.
        const theirs = writer.acquire('write', lab.path, 5_000);
        await lab.queueReaches(2);
        const reading = await rw.readLock.acquire();
        await writing.release();
        expect(await rw.writeLock.participants(), 'it still waits').to.have.length(1);
        expect(await theirs, 'while we read').to.equal(null);
        const again = writer.acquire('write', lab.path);
        await lab.queueReaches(2);
        await reading.release();
        expect(await again).to.equal(true);
      });
      await writer.release('write', lab.path);
    });
  });

  describe("Java's writer that downgrades", () => {
    it('is a reader at once, lets our readers hold too, and excludes our later writers', async () => {
      const thread = suite.java.owner('main');
      await thread.acquire('write', lab.path);
      await thread.acquire('read', lab.path);
      await thread.release('write', lab.path);
      await rw.readLock.withLock(() => undefined);
      expect(await rw.writeLock.tryAcquire(50)).to.equal(undefined);
      const ours = rw.writeLock.acquire();
      await lab.queueReaches(2);
      await thread.release('read', lab.path);
      await (await ours).release();
    });

    if (downgradesAtItsPlace) {
      it('goes before our writer that was already waiting', async () => {
        const thread = suite.java.owner('main');
        await thread.acquire('write', lab.path);
        let isIn = false;
        const ours = rw.writeLock.acquire().finally(() => (isIn = true));
        await lab.queueReaches(2);
        await thread.acquire('read', lab.path);
        await thread.release('write', lab.path);
        expect(await rw.writeLock.participants()).to.have.length(1);
        expect((await rw.readLock.participants())[0]?.sequence, "its writer's place").to.equal(0);
        expect(isIn, 'while Java reads').to.equal(false);
        await thread.release('read', lab.path);
        await (await ours).release();
      });

      it("goes before Java's own writer that was already waiting, and our readers may hold too", async () => {
        const [thread, other] = [suite.java.owner('main'), suite.java.owner('other')];
        await thread.acquire('write', lab.path);
        const next = other.acquire('write', lab.path, 5_000);
        await lab.queueReaches(2);
        await thread.acquire('read', lab.path);
        await thread.release('write', lab.path);
        expect(await next, 'while Java reads').to.equal(null);
        await rw.readLock.withLock(() => undefined);
        await thread.release('read', lab.path);
        await rw.writeLock.withLock(() => undefined);
      });
    } else {
      it('does not exclude our writer that was already waiting: 5.4 queues up behind it (CURATOR-621), and our writer is granted in queue order', async () => {
        const thread = suite.java.owner('main');
        await thread.acquire('write', lab.path);
        const ours = rw.writeLock.acquire();
        await lab.queueReaches(2);
        expect(await thread.acquire('read', lab.path)).to.equal(true);
        await lab.queueReaches(3);
        await thread.release('write', lab.path);
        const writing = await ours;
        expect(
          [writing.isValid, await thread.isOwned('read', lab.path)],
          'a writer and a reader at the same time',
        ).to.deep.equal([true, true]);
        const [theirs] = (await rw.readLock.participants()).map(({ sequence }) => sequence);
        expect(theirs, "a number behind ours, where 5.5 takes its writer's").to.be.greaterThan(
          Number(writing.path.slice(-10)),
        );
        await writing.release();
        await thread.release('read', lab.path);
      });

      it("does not exclude Java's own writer that was already waiting either, whatever Node does", async () => {
        const [thread, other] = [suite.java.owner('main'), suite.java.owner('other')];
        await thread.acquire('write', lab.path);
        const next = other.acquire('write', lab.path);
        await lab.queueReaches(2);
        await thread.acquire('read', lab.path);
        await thread.release('write', lab.path);
        expect([await next, await thread.isOwned('read', lab.path)]).to.deep.equal([true, true]);
        expect(await rw.readLock.tryAcquire(), 'ours stays out').to.equal(undefined);
        await other.release('write', lab.path);
        await thread.release('read', lab.path);
      });
    }
  });
});
