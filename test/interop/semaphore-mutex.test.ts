import { expect } from 'chai';
import { InterProcessSemaphoreMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import { peersOfSuite, startNode } from '../../lab/programs/interop/peers.ts';
import { rejection, until } from '../../lab/until.ts';

const kind = 'semaphoreMutex';

describe("a semaphore mutex on the same path as Java Curator's", () => {
  const lab = labOfEachTest('semaphore-mutex');
  const suite = peersOfSuite('java');
  let lock: InterProcessSemaphoreMutex;

  beforeEach(() => void (lock = new InterProcessSemaphoreMutex(lab.client, lab.path)));

  const znodes = async (): Promise<number[]> =>
    Promise.all(
      ['leases', 'locks'].map(async (folder) => (await lab.observer.children(`${lab.path}/${folder}`)).length),
    );
  const znodesReach = (leases: number, locks: number): Promise<void> => {
    return until(
      `there are ${leases} leases and ${locks} turns`,
      async () => String(await znodes()) === String([leases, locks]),
    );
  };

  it('4 Java threads and 4 owners in 2 Node processes lose no update, and leave no znode', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [
      ...['1', '2', '3', '4'].map((name) => suite.java.owner(name)),
      ...['1', '2'].flatMap((name) => [first.owner(name), second.owner(name)]),
    ];
    await Promise.all(owners.map((owner) => owner.work(kind, lab.path, ledger.folder, 30)));
    expect(ledger.count).to.equal(240);
    await znodesReach(0, 0);
  });

  it('neither is re-entrant: a holder waits for itself as for the other one', async () => {
    const thread = suite.java.owner('main');
    expect(await thread.acquire(kind, lab.path)).to.equal(true);
    expect(await thread.acquire(kind, lab.path, 50)).to.equal(null);
    expect(await lock.tryAcquire(50)).to.equal(undefined);
    await thread.release(kind, lab.path);
    const ours = await lock.acquire();
    expect(await lock.tryAcquire(50)).to.equal(undefined);
    expect(await thread.acquire(kind, lab.path, 50)).to.equal(null);
    await ours.release();
    await znodesReach(0, 0);
  });

  it('any code of the process that holds it can release it, and no code of the other process can', async () => {
    expect(await suite.java.owner('one').acquire(kind, lab.path)).to.equal(true);
    const ours = lock.acquire();
    await znodesReach(2, 1);
    expect((await rejection(lock.release())).message).to.contain(`Not acquired: ${lab.path}`);
    await suite.java.owner('another').release(kind, lab.path);
    const hold = await ours;
    const theirs = suite.java.owner('one').acquire(kind, lab.path);
    await znodesReach(2, 1);
    expect((await rejection(suite.java.owner('another').release(kind, lab.path))).message).to.match(/Not acquired/);
    expect(hold.isValid).to.equal(true);
    await lock.release();
    expect(await theirs).to.equal(true);
    await suite.java.owner('one').release(kind, lab.path);
    await znodesReach(0, 0);
  });
});
