import { expect } from 'chai';
import { InterProcessMultiLock, InterProcessMutex, LockClient } from '../../src/index.ts';
import { sharedZooKeeper } from '../support/hooks.ts';
import { Ledger } from '../support/interop/ledger.ts';
import type { Peer } from '../support/interop/peer.ts';
import { ensurePeers, startJava, startNode } from '../support/interop/peers.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { until } from '../support/until.ts';

/** Curator takes the locks in the order given: the peers give them in the order of their paths, which ours takes anyhow. */
describe("a multi-lock on the same paths as Java Curator's", () => {
  let java: Peer;
  let client: LockClient;
  let outside: Stranger;
  let path: string;
  let parts: [InterProcessMutex, InterProcessMutex];
  let both: InterProcessMultiLock;

  before(async function () {
    this.timeout(300_000);
    await ensurePeers();
    const { connectString } = await sharedZooKeeper();
    [java, client, outside] = await Promise.all([startJava(), LockClient.connect(connectString), stranger(connectString)]);
  });

  beforeEach(() => {
    path = testPath('multi');
    parts = [new InterProcessMutex(client, `${path}/a`), new InterProcessMutex(client, `${path}/b`)];
    both = new InterProcessMultiLock([...parts].reverse());
  });

  after(() => Promise.all([java.close(), client.close(), outside[Symbol.asyncDispose]()]));

  const queues = async (): Promise<number[]> => Promise.all(['a', 'b'].map(async (part) => (await outside.children(`${path}/${part}`)).length));
  const queuesReach = (...lengths: number[]): Promise<void> => until(`${lengths.join(' and ')} are in the queues`, async () => String(await queues()) === String(lengths));

  it('4 Java threads and 4 owners in 2 Node processes lose no update, and leave nothing', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [...['1', '2', '3', '4'].map((name) => java.owner(name)), ...['1', '2'].flatMap((name) => [first.owner(name), second.owner(name)])];
    await Promise.all(owners.map((owner) => owner.work('multi', path, ledger.folder, 30)));
    expect(ledger.count).to.equal(240);
    await queuesReach(0, 0);
  });

  it("Java's keeps ours out, which waits with nothing but its first, and goes in when Java's lets go", async () => {
    const thread = java.owner('main');
    expect(await thread.acquire('multi', path)).to.equal(true);
    expect(await both.tryAcquire()).to.equal(undefined);
    expect(await both.tryAcquire(50)).to.equal(undefined);
    await queuesReach(1, 1);
    const ours = both.acquire();
    await queuesReach(2, 1);
    await thread.release('multi', path);
    await (await ours).release();
    await queuesReach(0, 0);
  });

  it("ours keeps Java's out, of which a timeout leaves nothing, until it lets go", async () => {
    const thread = java.owner('main');
    const ours = await both.acquire();
    expect(await thread.acquire('multi', path, 50)).to.equal(null);
    await queuesReach(1, 1);
    const theirs = thread.acquire('multi', path);
    await queuesReach(2, 1);
    await ours.release();
    expect(await theirs).to.equal(true);
    await thread.release('multi', path);
    await queuesReach(0, 0);
  });

  it('who has one of the locks alone keeps out both, in Java and here', async () => {
    const thread = java.owner('main');
    await java.owner('other').acquire('mutex', `${path}/b`);
    expect(await both.tryAcquire()).to.equal(undefined);
    await queuesReach(0, 1);
    const ours = both.acquire();
    await queuesReach(1, 2);
    await java.owner('other').release('mutex', `${path}/b`);
    await (await ours).release();

    const part = await parts[1].acquire();
    expect(await thread.acquire('multi', path, 50)).to.equal(null);
    await part.release();
    await queuesReach(0, 0);
  });
});
