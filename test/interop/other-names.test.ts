import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createContainer, createSequential, openAcl } from '../../src/zookeeper/wire/operations.ts';
import { InterProcessMutex, StandardDriver } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import type { Peer } from '../../lab/programs/interop/peer.ts';
import { peersOfSuite, startKazoo, startNode } from '../../lab/programs/interop/peers.ts';
import { rejection } from '../../lab/until.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';

describe('the names of other clients in the queue of a mutex', () => {
  const lab = labOfEachTest('names');
  const suite = peersOfSuite('java', 'kazoo');

  describe("kazoo's Lock, named -lock- by a subclass of two lines: _NODE_NAME and _EXCLUDE_NAMES", () => {
    const kind = 'kazoo-under-our-name';

    it('shares one queue with Node and Java, and all are served in its order', async () => {
      const order: string[] = [];
      const hold = await lab.mutex.acquire();
      const waiting = [];
      for (const [place, [peer, name]] of (
        [
          [suite.kazoo, kind],
          [suite.java, 'mutex'],
          [suite.kazoo, kind],
        ] as const
      ).entries()) {
        const owner = peer.owner(`owner-${place}`);
        const served = owner.acquire(name, lab.path).then((node) => {
          order.push(String(node));
          return owner.release(name, lab.path);
        });
        waiting.push(served);
        await queueReaches(lab.mutex, place + 2);
      }
      const last = lab.mutex.withLock((ours) => order.push(ours.path));
      await queueReaches(lab.mutex, 5);
      const queue = await queueOf(lab.mutex);
      expect(await suite.java.owner('observer').participants('mutex', lab.path)).to.deep.equal(queue);
      await hold.release();
      await Promise.all([...waiting, last]);
      expect(order).to.deep.equal(queue.slice(1));
    });

    it('counts together with Node and Java: no update is lost, grants follow the order of creation', async function () {
      this.timeout(60_000);
      using ledger = new Ledger();
      await using node = await startNode();
      const peers: [Peer, string][] = [
        [node, 'mutex'],
        [suite.java, 'mutex'],
        [suite.kazoo, kind],
      ];
      const grants = await ledger.fill(peers, lab.path, { owners: 3, rounds: 40 });
      expect(ledger.count).to.equal(grants);
      expect(isAscending(ledger.grants.map(({ token }) => token))).to.equal(true);
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

    it('loses its place when it is killed, and the others go on', async function () {
      this.timeout(30_000);
      const victim = await startKazoo({ sessionTimeoutMs: 4_000 });
      await victim.owner('main').acquire(kind, lab.path);
      const ours = lab.mutex.acquire();
      await queueReaches(lab.mutex, 2);
      await victim.kill();
      await using hold = await ours;
      expect(await queueOf(lab.mutex)).to.deep.equal([hold.path]);
    });
  });

  describe("kazoo's Lock under its own name, <32 hex>__lock__<sequence>", () => {
    it('waits for Node and Java if it is given extra_lock_patterns=["-lock-"]', async () => {
      const hold = await lab.mutex.acquire();
      expect(await suite.kazoo.owner('main').acquire('kazoo-respecting-ours', lab.path, 100)).to.equal(null);
      const theirs = suite.kazoo.owner('main').acquire('kazoo-respecting-ours', lab.path);
      await lab.queueReaches(2);
      await hold.release();
      expect(await theirs).to.match(/__lock__\d{10}$/);
      await suite.kazoo.owner('main').release('kazoo-respecting-ours', lab.path);
    });

    it('cannot share a queue in the standard order: our acquire rejects with ForeignNodeError, and leaves no znode', async () => {
      const node = await suite.kazoo.owner('main').acquire('kazoo-respecting-ours', lab.path);
      expect((await rejection(lab.mutex.acquire())).code).to.equal('ERR_LOCK_FOREIGN_NODE');
      await lab.queueReaches(1);
      expect((await rejection(lab.mutex.tryAcquire())).message).to.contain(String(node).split('/').at(-1));
      await suite.kazoo.owner('main').release('kazoo-respecting-ours', lab.path);
    });

    it("is ignored by our lock with foreignNodes: 'wait', and by Java: its whole name is compared, and sorts after every sequence number", async () => {
      await suite.kazoo.owner('main').acquire('kazoo-respecting-ours', lab.path);
      const ours = await new InterProcessMutex(lab.client, lab.path, { foreignNodes: 'wait' }).acquire();
      expect(ours.isValid, 'while kazoo holds').to.equal(true);
      await ours.release();
      expect(await suite.java.owner('main').acquire('mutex', lab.path), 'while kazoo holds').to.be.a('string');
      await suite.java.owner('main').release('mutex', lab.path);
      await suite.kazoo.owner('main').release('kazoo-respecting-ours', lab.path);
    });

    it('shares a queue with our lock, but not with Java, by its extra_lock_patterns and a driver that compares only sequence numbers', async function () {
      this.timeout(60_000);
      const driver = new BySequence();
      const both = new InterProcessMutex(lab.client, lab.path, { driver, foreignNodes: 'wait' });
      using ledger = new Ledger();
      const thread = suite.kazoo.owner('main');
      const node = await thread.acquire('kazoo-respecting-ours', lab.path);
      const order: string[] = [String(node)];
      const ours = both.withLock((hold) => order.push(hold.path));
      await lab.queueReaches(2);
      const next = suite.kazoo.owner('other');
      const theirs = next.acquire('kazoo-respecting-ours', lab.path).then((theirNode) => {
        order.push(String(theirNode));
        return next.release('kazoo-respecting-ours', lab.path);
      });
      await lab.queueReaches(3);
      await thread.release('kazoo-respecting-ours', lab.path);
      await Promise.all([ours, theirs]);
      expect(order.map((name) => Number(name.slice(-10)))).to.deep.equal([0, 1, 2]);

      await Promise.all([
        ...['one', 'two'].map((name) =>
          suite.kazoo.owner(name).work('kazoo-respecting-ours', lab.path, ledger.folder, 30),
        ),
        ...[1, 2].map(async () => {
          for (let round = 0; round < 30; round += 1) await both.withLock((hold) => ledger.add(hold.fencingToken));
        }),
      ]);
      expect(ledger.count).to.equal(120);
      expect(isAscending(ledger.grants.map(({ token }) => token))).to.equal(true);
    });
  });

  describe("go-zookeeper's names, _c_<32 hex>-lock-<sequence>, written by a raw client", () => {
    const asGoDoes = async (): Promise<string> => {
      const name = `${lab.path}/_c_${randomUUID().replaceAll('-', '')}-lock-`;
      return (await lab.client.session.request(createSequential(name, Buffer.alloc(0), openAcl))).value.path;
    };
    /** The numbers that parseSeq of go-zookeeper's lock.go reads, in its first versions and in the latest. */
    const readByGo = (name: string): number[] =>
      ['-', 'lock-'].map((separator) => Number(name.split(separator).at(-1)));

    beforeEach(async () => {
      await lab.client.session.request(createContainer(lab.path.slice(0, lab.path.lastIndexOf('/')), openAcl));
      await lab.client.session.request(createContainer(lab.path, openAcl));
    });

    it('share one queue with Node and Java, which wait for each of them', async () => {
      const first = await asGoDoes();
      const ours = lab.mutex.acquire();
      await queueReaches(lab.mutex, 2);
      const second = await asGoDoes();
      const theirs = suite.java.owner('main').acquire('mutex', lab.path);
      await queueReaches(lab.mutex, 4);
      const queue = await queueOf(lab.mutex);
      expect([queue[0], queue[2]]).to.deep.equal([first, second]);
      expect(await lab.mutex.tryAcquire()).to.equal(undefined);

      await lab.observer.remove(first);
      const hold = await ours;
      expect(hold.path).to.equal(queue[1]);
      await hold.release();
      expect(await queueOf(lab.mutex)).to.deep.equal(queue.slice(2));
      expect(await suite.java.owner('observer').acquire('mutex', lab.path, 50)).to.equal(null);
      await lab.observer.remove(second);
      expect(await theirs).to.equal(queue[3]);
      await suite.java.owner('main').release('mutex', lab.path);
    });

    it('and our names are read by its parseSeq', async () => {
      await lab.mutex.withLock((hold) => expect(readByGo(hold.path)).to.deep.equal([0, 0]));
      await new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 0 } }).withLock((hold) =>
        expect(readByGo(hold.path)).to.deep.equal([1, 1]),
      );
    });
  });
});

/** Sorts by the sequence number alone, whatever the name is. */
class BySequence extends StandardDriver {
  override sort(children: readonly string[]): string[] {
    return [...children].sort((a, b) => Number(a.slice(-10)) - Number(b.slice(-10)));
  }
}

function isAscending(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}
