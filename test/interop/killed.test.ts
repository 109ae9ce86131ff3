import { expect } from 'chai';
import { InterProcessMutex, LockClient, type Hold } from '../../src/index.ts';
import { sharedZooKeeper } from '../support/hooks.ts';
import type { Owner, Peer } from '../support/interop/peer.ts';
import { ensurePeers, startJava, startNode } from '../support/interop/peers.ts';
import { testPath } from '../support/test-path.ts';
import { queueOf, queueReaches } from '../integration/contexts/lock-of-each-test.ts';

const shortest = { sessionTimeoutMs: 4_000 };

describe('kill -9 in the middle of a queue of Java and Node', () => {
  let client: LockClient;
  let path: string;
  let mutex: InterProcessMutex;

  before(async function () {
    this.timeout(300_000);
    await ensurePeers();
    client = await LockClient.connect((await sharedZooKeeper()).connectString);
  });

  beforeEach(() => {
    path = testPath('killed');
    mutex = new InterProcessMutex(client, path);
  });

  after(() => client.close());

  it('of Java, which holds and waits: Node goes on, in order, when the session is over', async function () {
    this.timeout(60_000);
    const victim = await startJava(shortest);
    await victim.owner('holder').acquire('mutex', path);
    const ours: Promise<Hold>[] = [mutex.acquire()];
    await queueReaches(mutex, 2);
    const dying = waits(victim.owner('waiter'));
    await queueReaches(mutex, 3);
    ours.push(mutex.acquire());
    await queueReaches(mutex, 4);
    const queue = await queueOf(mutex);
    await victim.kill();
    expect(await dying).to.match(/SIGKILL/);
    const served: string[] = [];
    for (const hold of ours) {
      served.push((await hold).path);
      await (await hold).release();
    }
    expect(served).to.deep.equal([queue[1], queue[3]]);
    expect(await queueOf(mutex)).to.deep.equal([]);
  });

  it('of Node, which holds and waits: Java goes on, in order, when the session is over', async function () {
    this.timeout(60_000);
    const [victim, survivor] = await Promise.all([startNode(shortest), startJava()]);
    await victim.owner('holder').acquire('mutex', path);
    const theirs = [survivor.owner('first'), survivor.owner('second')].map((owner) => ({ owner, queue: () => owner.acquire('mutex', path) }));
    const [first, second] = theirs;
    const served = first?.queue();
    await queueReaches(mutex, 2);
    const dying = waits(victim.owner('waiter'));
    await queueReaches(mutex, 3);
    const servedNext = second?.queue();
    await queueReaches(mutex, 4);
    const queue = await queueOf(mutex);
    await victim.kill();
    expect(await dying).to.match(/SIGKILL/);
    expect(await served).to.equal(queue[1]);
    await first?.owner.release('mutex', path);
    expect(await servedNext).to.equal(queue[3]);
    await second?.owner.release('mutex', path);
    expect(await queueOf(mutex)).to.deep.equal([]);
    await survivor.close();
  });

  for (const [name, start] of [['Java', startJava], ['Node', startNode]] as const) {
    it(`of ${name}, which only waits: those behind it stay behind the holder, and are served when the session is over`, async function () {
      this.timeout(60_000);
      const victim: Peer = await start(shortest);
      const holder = await mutex.acquire();
      const dying = waits(victim.owner('waiter'));
      await queueReaches(mutex, 2);
      let isIn = false;
      const behind = mutex.acquire().finally(() => (isIn = true));
      await queueReaches(mutex, 3);
      await victim.kill();
      expect(await dying).to.match(/SIGKILL/);
      await queueReaches(mutex, 2);
      // Its predecessor's end has been told by now: one connection is read in order.
      expect([isIn, holder.isValid]).to.deep.equal([false, true]);
      await holder.release();
      await (await behind).release();
      expect(await queueOf(mutex)).to.deep.equal([]);
    });
  }

  /** Queues up and tells why it was not served. */
  function waits(owner: Owner): Promise<string> {
    return owner.acquire('mutex', path).then(() => 'served', String);
  }
});
