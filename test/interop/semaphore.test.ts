import { expect } from 'chai';
import { InterProcessSemaphore } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import type { Owner, Peer } from '../../lab/programs/interop/peer.ts';
import { peersOfSuite, startJava, startNode } from '../../lab/programs/interop/peers.ts';
import { until } from '../../lab/until.ts';

const kind = 'semaphore:3';

describe('a semaphore of 3 leases that is shared with Java Curator', () => {
  const lab = labOfEachTest('semaphore');
  const suite = peersOfSuite('java');
  let semaphore: InterProcessSemaphore;

  beforeEach(() => void (semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 3 })));

  const left = async (path = lab.path): Promise<string[]> => [
    ...(await lab.observer.children(`${path}/leases`)),
    ...(await lab.observer.children(`${path}/locks`)),
  ];
  const untilQueued = (count: number, path = lab.path): Promise<void> =>
    until(`${count} are queued`, async () => (await lab.observer.children(`${path}/locks`)).length === count);
  const waitsForLease = (children: number, path = lab.path): Promise<void> =>
    until('the next one waits', async () => (await lab.observer.children(`${path}/leases`)).length === children);

  it('of 6 Java threads and 6 owners in 2 Node processes, 3 hold a lease at once and never 4, and no znode is left', async function () {
    this.timeout(30_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [...threads(suite.java, 6), ...threads(first, 3), ...threads(second, 3)];
    await Promise.all(owners.map((owner) => owner.work(kind, lab.path, ledger.folder, 15)));
    const { crowds } = ledger;
    expect(crowds).to.have.length(180);
    expect(Math.max(...crowds.map(({ inside }) => inside))).to.equal(3);
    await until('nothing is left', async () => (await left()).length === 0);
  });

  it('the leases are taken in the order in which both asked', async () => {
    const [a, b, c] = ['a', 'b', 'c'].map((name) => suite.java.owner(name)) as [Owner, Owner, Owner];
    await a.acquire(kind, lab.path);
    const ours = await semaphore.acquire();
    await b.acquire(kind, lab.path);

    const order: string[] = [];
    const theirs = c.acquire(kind, lab.path).then(() => order.push('their fourth'));
    await waitsForLease(4);
    const fifth = semaphore.acquire().then((lease) => {
      order.push('our fifth');
      return lease;
    });
    await untilQueued(2);
    const sixth = a.acquire(kind, lab.path).then(() => order.push('their sixth'));
    await untilQueued(3);

    await ours.release();
    await theirs;
    await c.release(kind, lab.path);
    await (await fifth).release();
    await sixth;
    expect(order).to.deep.equal(['their fourth', 'our fifth', 'their sixth']);
    await a.release(kind, lab.path);
    await b.release(kind, lab.path);
    await a.release(kind, lab.path);
    await until('nothing is left', async () => (await left()).length === 0);
  });

  it('a timeout of either leaves no lease and no waiter', async () => {
    const thread = suite.java.owner('main');
    const leases = await semaphore.acquireMany(3);
    expect(await thread.acquire(kind, lab.path, 50)).to.equal(null);
    await until('only ours are left', async () => (await left()).length === 3);
    await Promise.all(leases.map((lease) => lease.release()));
    for (let lease = 0; lease < 3; lease += 1) expect(await thread.acquire(kind, lab.path, 5_000)).to.be.a('string');
    expect(await semaphore.tryAcquire(50)).to.equal(undefined);
    expect(await semaphore.tryAcquire()).to.equal(undefined);
    await until('only theirs are left', async () => (await left()).length === 3);
    for (let lease = 0; lease < 3; lease += 1) await thread.release(kind, lab.path);
  });

  it('the leases of a killed Java process are free when its session is over', async function () {
    this.timeout(60_000);
    const victim = await startJava({ sessionTimeoutMs: 4_000 });
    const [main, waiter] = [victim.owner('main'), victim.owner('waiter')];
    for (let lease = 0; lease < 3; lease += 1) await main.acquire(kind, lab.path);
    const dying = waiter.acquire(kind, lab.path).then(() => 'served', String);
    await waitsForLease(4);
    const ours = semaphore.acquire();
    await untilQueued(2);
    await victim.kill();
    expect(await dying).to.match(/SIGKILL/);
    await (await ours).release();
    await until('nothing is left', async () => (await left()).length === 0);
  });

  it('our call for both leases gives way to Java, which has one and waits for the other: 20 times, and both always get them', async function () {
    this.timeout(180_000);
    const both = 'semaphore:2:2';
    const thread = suite.java.owner('both');
    for (let round = 0; round < 20; round += 1) {
      const path = `${lab.path}-${round}`;
      const semaphore = new InterProcessSemaphore(lab.client, path, { maxLeases: 2 });
      const [first, last] = await semaphore.acquireMany(2);
      const theirs = thread.acquire(both, path).then(() => thread.release(both, path));
      await waitsForLease(3, path);
      const ours = semaphore.acquireMany(2, { timeoutMs: 60_000 });
      await untilQueued(2, path);
      // Java has its first lease now, and waits for its second turn behind ours.
      await first?.release();
      await until('we have the turn, and Java waits behind us', async () => {
        const sessions = (await lab.observer.ephemerals(`${path}/locks`))
          .sort((a, b) => (a.name.slice(-10) < b.name.slice(-10) ? -1 : 1))
          .map(({ owner }) => owner === lab.client.session.id);
        return sessions.length === 2 && sessions[0] === true && sessions[1] === false;
      });
      await last?.release();
      await theirs;
      const leases = await ours;
      expect(leases.map(({ isValid }) => isValid)).to.deep.equal([true, true]);
      await Promise.all(leases.map((lease) => lease.release()));
      await until('nothing is left', async () => (await left(path)).length === 0);
    }
  });

  it('our call for both leases and a Java call for both always get them, in any order', async function () {
    this.timeout(180_000);
    const thread = suite.java.owner('both');
    const theirs = async (): Promise<void> => {
      for (let round = 0; round < 8; round += 1) {
        await thread.acquire('semaphore:2:2', lab.path);
        await thread.release('semaphore:2:2', lab.path);
      }
    };
    const pair = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 });
    const ours = async (): Promise<void> => {
      for (let round = 0; round < 8; round += 1)
        await Promise.all((await pair.acquireMany(2, { timeoutMs: 60_000 })).map((lease) => lease.release()));
    };
    await Promise.all([theirs(), ours(), ours()]);
    await until('nothing is left', async () => (await left()).length === 0);
  });

  it("Java's SharedCount decides the number of leases, also for waiters", async () => {
    const count = `${lab.path}-count`;
    await suite.java.owner('main').setCount(count, 1);
    const shared = new InterProcessSemaphore(lab.client, lab.path, { sharedCount: count });
    await using _first = await shared.acquire();
    const second = shared.acquire();
    await waitsForLease(2);
    await suite.java.owner('main').setCount(count, 2);
    await (await second).release();
  });
});

function threads(peer: Peer, count: number): Owner[] {
  return Array.from({ length: count }, (_, index) => peer.owner(`owner-${index}`));
}
