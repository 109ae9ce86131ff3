import { expect } from 'chai';
import { InterProcessSemaphoreMutex, LockClient } from '../../src/index.ts';
import { sharedZooKeeper } from '../support/hooks.ts';
import { Ledger } from '../support/interop/ledger.ts';
import type { Peer } from '../support/interop/peer.ts';
import { ensurePeers, startJava, startNode } from '../support/interop/peers.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { rejection, until } from '../support/until.ts';

const kind = 'semaphoreMutex';

describe("a semaphore mutex on the same path as Java Curator's", () => {
  let java: Peer;
  let client: LockClient;
  let outside: Stranger;
  let path: string;
  let lock: InterProcessSemaphoreMutex;

  before(async function () {
    this.timeout(300_000);
    await ensurePeers();
    const { connectString } = await sharedZooKeeper();
    [java, client, outside] = await Promise.all([startJava(), LockClient.connect(connectString), stranger(connectString)]);
  });

  beforeEach(() => {
    path = testPath('semaphore-mutex');
    lock = new InterProcessSemaphoreMutex(client, path);
  });

  after(() => Promise.all([java.close(), client.close(), outside[Symbol.asyncDispose]()]));

  const znodes = async (): Promise<number[]> => Promise.all(['leases', 'locks'].map(async (folder) => (await outside.children(`${path}/${folder}`)).length));
  const znodesReach = (leases: number, locks: number): Promise<void> => {
    return until(`there are ${leases} leases and ${locks} turns`, async () => String(await znodes()) === String([leases, locks]));
  };

  it('4 Java threads and 4 owners in 2 Node processes lose no update, and leave nothing', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [...['1', '2', '3', '4'].map((name) => java.owner(name)), ...['1', '2'].flatMap((name) => [first.owner(name), second.owner(name)])];
    await Promise.all(owners.map((owner) => owner.work(kind, path, ledger.folder, 30)));
    expect(ledger.count).to.equal(240);
    await znodesReach(0, 0);
  });

  it('neither is re-entrant: whoever has it waits for itself as for the other one', async () => {
    const thread = java.owner('main');
    expect(await thread.acquire(kind, path)).to.equal(true);
    expect(await thread.acquire(kind, path, 50)).to.equal(null);
    expect(await lock.tryAcquire(50)).to.equal(undefined);
    await thread.release(kind, path);
    const ours = await lock.acquire();
    expect(await lock.tryAcquire(50)).to.equal(undefined);
    expect(await thread.acquire(kind, path, 50)).to.equal(null);
    await ours.release();
    await znodesReach(0, 0);
  });

  it('anybody of the process that has it lets the other one in, and nobody lets go what the other one has', async () => {
    expect(await java.owner('one').acquire(kind, path)).to.equal(true);
    const ours = lock.acquire();
    await znodesReach(2, 1);
    expect((await rejection(lock.release())).message).to.equal(`Not acquired: ${path}`);
    await java.owner('another').release(kind, path);
    const hold = await ours;
    const theirs = java.owner('one').acquire(kind, path);
    await znodesReach(2, 1);
    expect((await rejection(java.owner('another').release(kind, path))).message).to.match(/Not acquired/);
    expect(hold.isValid).to.equal(true);
    await lock.release();
    expect(await theirs).to.equal(true);
    await java.owner('one').release(kind, path);
    await znodesReach(0, 0);
  });
});
