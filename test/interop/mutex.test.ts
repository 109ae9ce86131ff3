import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import type { Peer } from '../../lab/programs/interop/peer.ts';
import { peersOfSuite, startJava, startNode } from '../../lab/programs/interop/peers.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';

describe('a mutex that is shared with Java Curator', () => {
  const lab = labOfEachTest('mutex');
  const suite = peersOfSuite('java');

  it('8 Java threads and 8 owners in 2 Node processes count to 2,000: the lock changes hands between the two, no update is lost, grants follow the order of creation, no znode is left', async function () {
    this.timeout(120_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [...ownersOf(suite.java, 8), ...ownersOf(first, 4), ...ownersOf(second, 4)];
    let rounds = 0;
    // A busy machine may let only one of the two run for a while.
    do {
      await Promise.all(owners.map((owner) => owner.work('mutex', lab.path, ledger.folder, 125)));
      rounds += 2_000;
      expect(ledger.count, 'a lost update means two owners').to.equal(rounds);
    } while (changes(ledger.grants.map(({ by }) => by)) <= 200);
    const tokens = ledger.grants.map(({ token }) => token);
    expect([tokens.length, isAscending(tokens)]).to.deep.equal([rounds, true]);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('both see the same queue, and are served in its order', async () => {
    const hold = await lab.mutex.acquire();
    const order: string[] = [];
    const waiting: Promise<unknown>[] = [];
    for (const [place, who] of ['java', 'node', 'java', 'node'].entries()) {
      const owner = suite.java.owner(`thread-${place}`);
      const served = (): unknown => order.push(`${who} ${place}`);
      waiting.push(
        who === 'java'
          ? owner
              .acquire('mutex', lab.path)
              .then(served)
              .then(() => owner.release('mutex', lab.path))
          : lab.mutex.withLock(served),
      );
      await queueReaches(lab.mutex, place + 2);
    }
    expect(await suite.java.owner('observer').participants('mutex', lab.path)).to.deep.equal(await queueOf(lab.mutex));
    await hold.release();
    await Promise.all(waiting);
    expect(order).to.deep.equal(['java 0', 'node 1', 'java 2', 'node 3']);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('a timeout of either leaves no znode while the other one holds', async () => {
    const thread = suite.java.owner('main');
    const hold = await lab.mutex.acquire();
    expect(await thread.acquire('mutex', lab.path, 50)).to.equal(null);
    expect(await queueOf(lab.mutex)).to.deep.equal([hold.path]);
    await hold.release();
    const node = await thread.acquire('mutex', lab.path, 0);
    expect(await lab.mutex.tryAcquire(50)).to.equal(undefined);
    expect(await lab.mutex.tryAcquire()).to.equal(undefined);
    await queueReaches(lab.mutex, 1);
    expect(await queueOf(lab.mutex)).to.deep.equal([node]);
    await thread.release('mutex', lab.path);
  });

  it('either can acquire the lock as soon as the other one has closed its client', async () => {
    await using leaving = await startJava();
    const closing = await LockClient.connect((await sharedZooKeeper()).connectString);
    await leaving.owner('main').acquire('mutex', lab.path);
    const ours = new InterProcessMutex(closing, lab.path).acquire();
    await queueReaches(lab.mutex, 2);
    const theirs = suite.java.owner('main').acquire('mutex', lab.path);
    await queueReaches(lab.mutex, 3);
    await leaving.close();
    await ours;
    await closing.close();
    expect(await theirs).to.equal((await queueOf(lab.mutex))[0]);
    await suite.java.owner('main').release('mutex', lab.path);
  });
});

/** `count` threads of a peer. */
function ownersOf(peer: Peer, count: number): ReturnType<Peer['owner']>[] {
  return Array.from({ length: count }, (_, index) => peer.owner(`owner-${index}`));
}

function isAscending(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}

function changes(names: readonly string[]): number {
  return names.filter((name, index) => index > 0 && name !== names[index - 1]).length;
}
