import { expect } from 'chai';
import { InterProcessMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import type { Peer } from '../../lab/programs/interop/peer.ts';
import { peersOfSuite, startNode } from '../../lab/programs/interop/peers.ts';
import { until } from '../../lab/until.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';

describe('a sticky lock that Java Curator asks for', () => {
  const lab = labOfEachTest('sticky');
  const suite = peersOfSuite('java');
  let mutex: InterProcessMutex;

  beforeEach(() => void (mutex = new InterProcessMutex(lab.client, lab.path, { sticky: { idleMs: 60_000 } })));

  const idle = async (): Promise<void> => {
    await (await mutex.acquire()).release();
    await until('it is idle', async () => (await mutex.participants())[0]?.isIdle === true);
  };

  it('is given up as soon as it sees the waiter, while it is idle', async () => {
    const thread = suite.java.owner('main');
    await idle();
    const [kept] = await queueOf(mutex);
    const node = await thread.acquire('mutex', mutex.path, 5_000);
    expect(await queueOf(mutex)).to.deep.equal([node]);
    expect(node).not.to.equal(kept);
    await thread.release('mutex', mutex.path);
  });

  it('is given up at the release when Java asked for it meanwhile, even though Java gave up waiting', async () => {
    await idle();
    const hold = await mutex.acquire();
    expect(await suite.java.owner('main').acquire('mutex', mutex.path, 50)).to.equal(null);
    expect(await queueOf(mutex)).to.deep.equal([hold.path]);
    await hold.release();
    expect(await lab.observer.children(mutex.path)).to.deep.equal([]);
  });

  it('serves the callers that waited here before Java, then Java, then later callers', async () => {
    await idle();
    const holder = await mutex.acquire();
    const order: string[] = [];
    const early = mutex.withLock(() => order.push('early'));
    const thread = suite.java.owner('main');
    const theirs = thread.acquire('mutex', mutex.path).then(() => {
      order.push('java');
      return thread.release('mutex', mutex.path);
    });
    await queueReaches(mutex, 2); // on the client's own connection: the watch event came before this answer
    const late = mutex.withLock(() => order.push('late'));
    await queueReaches(mutex, 3);
    await holder.release();
    await Promise.all([early, theirs, late]);
    expect(order).to.deep.equal(['early', 'java', 'late']);
  });

  it('counts together with Java and with plain locks of Node, and no update is lost', async function () {
    this.timeout(60_000);
    using ledger = new Ledger();
    await using second = await startNode();
    await using third = await startNode();
    const peers: [Peer, string][] = [
      [suite.java, 'mutex'],
      [second, 'sticky'],
      [third, 'mutex'],
    ];
    const path = mutex.path;
    await Promise.all(
      peers.flatMap(([peer, kind]) =>
        [1, 2, 3, 4].map((number) => peer.owner(`${kind}-${number}`).work(kind, path, ledger.folder, 75)),
      ),
    );
    expect(ledger.count).to.equal(900);
    const tokens = ledger.grants.map(({ token }) => token);
    expect(
      tokens.every((token, index) => index === 0 || token >= (tokens[index - 1] ?? token)),
      'the tokens never fall',
    ).to.equal(true);
    await Promise.all([second.close(), third.close()]);
    expect(await lab.observer.children(path)).to.deep.equal([]);
  });
});
