import { expect } from 'chai';
import { InterProcessMultiLock, InterProcessMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import { peersOfSuite, startNode } from '../../lab/programs/interop/peers.ts';
import { until } from '../../lab/until.ts';

/**
 * Curator acquires the locks in the order given. The peers give them in the order of their paths, which our multi-lock
 * always uses.
 */
describe("a multi-lock on the same paths as Java Curator's", () => {
  const lab = labOfEachTest('multi');
  const suite = peersOfSuite('java');
  let parts: [InterProcessMutex, InterProcessMutex];
  let both: InterProcessMultiLock;

  beforeEach(() => {
    parts = [new InterProcessMutex(lab.client, `${lab.path}/a`), new InterProcessMutex(lab.client, `${lab.path}/b`)];
    both = new InterProcessMultiLock([...parts].reverse());
  });

  const queues = async (): Promise<number[]> =>
    Promise.all(['a', 'b'].map(async (part) => (await lab.observer.children(`${lab.path}/${part}`)).length));
  const queuesReach = (...lengths: number[]): Promise<void> =>
    until(`${lengths.join(' and ')} are in the queues`, async () => String(await queues()) === String(lengths));

  it('4 Java threads and 4 owners in 2 Node processes lose no update, and leave no znode', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [
      ...['1', '2', '3', '4'].map((name) => suite.java.owner(name)),
      ...['1', '2'].flatMap((name) => [first.owner(name), second.owner(name)]),
    ];
    await Promise.all(owners.map((owner) => owner.work('multi', lab.path, ledger.folder, 30)));
    expect(ledger.count).to.equal(240);
    await queuesReach(0, 0);
  });

  it("Java's excludes ours, which waits with only its first znode, and is granted when Java's is released", async () => {
    const thread = suite.java.owner('main');
    expect(await thread.acquire('multi', lab.path)).to.equal(true);
    expect(await both.tryAcquire()).to.equal(undefined);
    expect(await both.tryAcquire(50)).to.equal(undefined);
    await queuesReach(1, 1);
    const ours = both.acquire();
    await queuesReach(2, 1);
    await thread.release('multi', lab.path);
    await (await ours).release();
    await queuesReach(0, 0);
  });

  it("ours excludes Java's until it is released, and a timeout of Java's leaves no znode", async () => {
    const thread = suite.java.owner('main');
    const ours = await both.acquire();
    expect(await thread.acquire('multi', lab.path, 50)).to.equal(null);
    await queuesReach(1, 1);
    const theirs = thread.acquire('multi', lab.path);
    await queuesReach(2, 1);
    await ours.release();
    expect(await theirs).to.equal(true);
    await thread.release('multi', lab.path);
    await queuesReach(0, 0);
  });

  it('an owner of one of the locks excludes a multi-lock, in Java and here', async () => {
    const thread = suite.java.owner('main');
    await suite.java.owner('other').acquire('mutex', `${lab.path}/b`);
    expect(await both.tryAcquire()).to.equal(undefined);
    await queuesReach(0, 1);
    const ours = both.acquire();
    await queuesReach(1, 2);
    await suite.java.owner('other').release('mutex', `${lab.path}/b`);
    await (await ours).release();

    const part = await parts[1].acquire();
    expect(await thread.acquire('multi', lab.path, 50)).to.equal(null);
    await part.release();
    await queuesReach(0, 0);
  });
});
