import { expect } from 'chai';
import { createSequential, openAcl } from '../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import { peersOfSuite, startGo, startNode } from '../../lab/programs/interop/peers.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';
import { rejection } from '../../lab/until.ts';

/** The kind of lock is no matter: Go has one. */
const kind = 'mutex';

describe("a mutex that is shared with go-zookeeper's Lock", () => {
  const lab = labOfEachTest('go');
  const suite = peersOfSuite('java', 'kazoo', 'go');

  it('Go, Java, kazoo and Node are served in the order of one queue', async () => {
    const hold = await lab.mutex.acquire();
    const order: string[] = [];
    const waiting: Promise<unknown>[] = [];
    const others = [
      [suite.go, kind],
      [suite.java, kind],
      [suite.go, kind],
      [suite.kazoo, 'kazoo-under-our-name'],
      [suite.go, kind],
    ] as const;
    for (const [place, [peer, name]] of others.entries()) {
      const owner = peer.owner(`owner-${place}`);
      const served = owner.acquire(name, lab.path).then((node) => {
        order.push(String(node));
        return owner.release(name, lab.path);
      });
      waiting.push(served);
      await queueReaches(lab.mutex, place + 2);
    }
    waiting.push(lab.mutex.withLock((ours) => order.push(ours.path)));
    await queueReaches(lab.mutex, others.length + 2);
    const queue = await queueOf(lab.mutex);
    await hold.release();
    await Promise.all(waiting);
    expect(order).to.deep.equal(queue.slice(1));
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('of 4 owners each in Go, Java, kazoo and Node, none is lost, grants follow the order of creation, and no znode is left', async function () {
    this.timeout(120_000);
    using ledger = new Ledger();
    await using node = await startNode();
    const peers = [
      [suite.go, kind],
      [node, kind],
      [suite.java, kind],
      [suite.kazoo, 'kazoo-under-our-name'],
    ] as const;
    const grants = await ledger.fill(peers, lab.path, { owners: 4, rounds: 30 });
    expect(ledger.count, 'a lost update means two owners').to.equal(grants);
    expect(isAscending(ledger.grants.map(({ token }) => token))).to.equal(true);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('a killed Go process loses its places when its session is over', async function () {
    this.timeout(30_000);
    const victim = await startGo({ sessionTimeoutMs: 4_000 });
    await victim.owner('holder').acquire(kind, lab.path);
    const dying = rejection(victim.owner('waiter').acquire(kind, lab.path));
    await queueReaches(lab.mutex, 2);
    const ours = lab.mutex.acquire();
    await queueReaches(lab.mutex, 3);
    await victim.kill();
    expect((await dying).message).to.match(/SIGKILL/);
    await using hold = await ours;
    expect(await queueOf(lab.mutex)).to.deep.equal([hold.path]);
  });

  describe('what Go does not do', () => {
    it('it does not re-enter: a second Lock of the same instance is an error', async () => {
      const owner = suite.go.owner('main');
      await owner.acquire(kind, lab.path);
      expect((await rejection(owner.acquire(kind, lab.path))).message).to.match(/trying to acquire a lock twice/);
      await owner.release(kind, lab.path);
    });

    it('a holder whose znode is deleted does not notice, its Unlock fails, and its instance never locks again', async () => {
      const owner = suite.go.owner('loser');
      await lab.observer.remove(String(await owner.acquire(kind, lab.path)));
      await lab.mutex.withLock(() => undefined);
      expect((await rejection(owner.release(kind, lab.path))).message).to.match(/node does not exist/);
      expect((await rejection(owner.acquire(kind, lab.path))).message).to.match(/trying to acquire a lock twice/);
    });

    it('a waiter whose znode is deleted is granted the lock without a znode: two owners at the same time', async () => {
      const hold = await lab.mutex.acquire();
      const owner = suite.go.owner('ghost');
      const theirs = owner.acquire(kind, lab.path);
      await queueReaches(lab.mutex, 2);
      const next = lab.mutex.acquire();
      await queueReaches(lab.mutex, 3);
      const [, ghost = ''] = await queueOf(lab.mutex);
      await lab.observer.remove(ghost);
      await queueReaches(lab.mutex, 2);
      await hold.release();
      expect(await theirs).to.equal(ghost);
      await using ours = await next;
      expect(ours.isValid, 'while Go takes itself for the owner').to.equal(true);
    });

    it('a Lock that fails leaves its znode in the queue: it fails at a name without a number, like a child of a semaphore or a weighted znode', async () => {
      await using leaving = await startGo();
      await lab.mutex.withLock(() => undefined);
      const foreign = `${lab.path}/_c_weighted-lock-+5x0-`;
      const { path } = (await lab.client.session.request(createSequential(foreign, Buffer.alloc(0), openAcl))).value;
      const theirs = leaving.owner('main');
      expect((await rejection(theirs.acquire(kind, lab.path))).message).to.match(/invalid syntax/);
      await lab.observer.remove(path);
      await queueReaches(lab.mutex, 1);
      expect((await rejection(theirs.release(kind, lab.path))).message).to.match(/not locked/);
      expect(await lab.mutex.tryAcquire()).to.equal(undefined);
      await leaving.close();
      await lab.queueReaches(0);
    });
  });
});

function isAscending(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}
