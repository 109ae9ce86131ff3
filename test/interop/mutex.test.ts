import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { sharedZooKeeper } from '../support/hooks.ts';
import { Ledger } from '../support/interop/ledger.ts';
import type { Peer } from '../support/interop/peer.ts';
import { ensurePeers, startJava, startNode } from '../support/interop/peers.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { queueOf, queueReaches } from '../integration/contexts/lock-of-each-test.ts';

describe('a mutex that is shared with Java Curator', () => {
  let java: Peer;
  let client: LockClient;
  let outside: Stranger;
  let path: string;
  let mutex: InterProcessMutex;

  before(async function () {
    this.timeout(300_000);
    await ensurePeers();
    const { connectString } = await sharedZooKeeper();
    [java, client, outside] = await Promise.all([startJava(), LockClient.connect(connectString), stranger(connectString)]);
  });

  beforeEach(() => {
    path = testPath('mutex');
    mutex = new InterProcessMutex(client, path);
  });

  after(() => Promise.all([java.close(), client.close(), outside[Symbol.asyncDispose]()]));

  it('8 Java threads and 8 owners in 2 Node processes count to 2,000: none is lost, the grants are in the order of creation, nothing is left', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using first = await startNode();
    await using second = await startNode();
    const owners = [...ownersOf(java, 8), ...ownersOf(first, 4), ...ownersOf(second, 4)];
    await Promise.all(owners.map((owner) => owner.work('mutex', path, ledger.folder, 125)));
    expect(ledger.count).to.equal(2_000);
    const { grants } = ledger;
    expect([grants.length, isAscending(grants.map(({ token }) => token))]).to.deep.equal([2_000, true]);
    expect(changes(grants.map(({ by }) => by)), 'the lock changes hands between the two').to.be.greaterThan(200);
    expect(await outside.children(path)).to.deep.equal([]);
  });

  it('both see the same queue, and are served in its order', async () => {
    const hold = await mutex.acquire();
    const order: string[] = [];
    const waiting: Promise<unknown>[] = [];
    for (const [place, who] of ['java', 'node', 'java', 'node'].entries()) {
      const owner = java.owner(`thread-${place}`);
      const served = (): unknown => order.push(`${who} ${place}`);
      waiting.push(who === 'java' ? owner.acquire('mutex', path).then(served).then(() => owner.release('mutex', path)) : mutex.withLock(served));
      await queueReaches(mutex, place + 2);
    }
    expect(await java.owner('observer').participants('mutex', path)).to.deep.equal(await queueOf(mutex));
    await hold.release();
    await Promise.all(waiting);
    expect(order).to.deep.equal(['java 0', 'node 1', 'java 2', 'node 3']);
    expect(await outside.children(path)).to.deep.equal([]);
  });

  it('a timeout of either leaves nothing behind while the other one holds', async () => {
    const thread = java.owner('main');
    const hold = await mutex.acquire();
    expect(await thread.acquire('mutex', path, 50)).to.equal(null);
    expect(await queueOf(mutex)).to.deep.equal([hold.path]);
    await hold.release();
    const node = await thread.acquire('mutex', path, 0);
    expect(await mutex.tryAcquire(50)).to.equal(undefined);
    expect(await mutex.tryAcquire()).to.equal(undefined);
    await queueReaches(mutex, 1);
    expect(await queueOf(mutex)).to.deep.equal([node]);
    await thread.release('mutex', path);
  });

  it('the lock can be had by either as soon as the other one has closed its client', async () => {
    await using leaving = await startJava();
    const closing = await LockClient.connect((await sharedZooKeeper()).connectString);
    await leaving.owner('main').acquire('mutex', path);
    const ours = new InterProcessMutex(closing, path).acquire();
    await queueReaches(mutex, 2);
    const theirs = java.owner('main').acquire('mutex', path);
    await queueReaches(mutex, 3);
    await leaving.close();
    await ours;
    await closing.close();
    expect(await theirs).to.equal((await queueOf(mutex))[0]);
    await java.owner('main').release('mutex', path);
  });
});

/** So many threads of a peer. */
function ownersOf(peer: Peer, count: number): ReturnType<Peer['owner']>[] {
  return Array.from({ length: count }, (_, index) => peer.owner(`owner-${index}`));
}

function isAscending(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}

function changes(names: readonly string[]): number {
  return names.filter((name, index) => index > 0 && name !== names[index - 1]).length;
}
