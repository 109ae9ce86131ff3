import { expect } from 'chai';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import type { Owner, Peer } from '../../lab/programs/interop/peer.ts';
import { ensurePeers, startJava, startKazoo } from '../../lab/programs/interop/peers.ts';
import { connectObserver, type Observer } from '../../lab/wire/observer.ts';
import { skipWithout } from '../../lab/skip-without.ts';
import { testPath } from '../../lab/test-path.ts';
import { until } from '../../lab/until.ts';
import { EmbeddedZooKeeper } from '../../packages/testing/src/index.ts';

interface Server {
  readonly connectString: string;
  stop(): Promise<void>;
}

// The laboratory configures the real server with the same times.
const servers: Readonly<Record<string, () => Promise<Server>>> = {
  'an embedded ZooKeeper': () => EmbeddedZooKeeper.start({ tickTimeMs: 500, maxSessionTimeoutMs: 60_000 }),
  'the real ZooKeeper': async () => ({ ...(await sharedZooKeeper()), stop: () => Promise.resolve() }),
};

for (const [name, startServer] of Object.entries(servers))
  describe(`${name} serves the recipes of Java Curator, and kazoo's lock`, function () {
    this.timeout(60_000);
    let server: Server;
    let stop = (): Promise<unknown> => Promise.resolve(); // what a skipped suite has to stop
    let java: Peer;
    let kazoo: Peer;
    let observer: Observer;
    let path: string;

    before(async function () {
      this.timeout(300_000); // packages may have to be installed
      await skipWithout(this, () => ensurePeers('java', 'kazoo'));
      server = await startServer();
      const { connectString } = server;
      [java, kazoo, observer] = await Promise.all([
        startJava({ connectString }),
        startKazoo({ connectString }),
        connectObserver(connectString),
      ]);
      stop = async () => {
        await Promise.all([java.close(), kazoo.close(), observer[Symbol.asyncDispose]()]);
        await server.stop();
      };
    });
    beforeEach(() => void (path = testPath('peers')));
    after(() => stop());

    const childrenReach = (count: number, folder = path): Promise<void> =>
      until(`${folder} has ${count} children`, async () => (await observer.children(folder)).length === count);

    /** The number that `count` owners of a peer, each with `rounds` turns, have counted to under a lock. */
    async function counted(peer: Peer, kind: string, count: number, rounds: number): Promise<number> {
      using ledger = new Ledger();
      await Promise.all(ownersOf(peer, count).map((owner) => owner.work(kind, path, ledger.folder, rounds)));
      const tokens = ledger.grants.map(({ token }) => token);
      expect(isAscending(tokens), 'grants follow the order of creation').to.equal(true);
      await childrenReach(0);
      return ledger.count;
    }

    it('four threads count to 400 with one InterProcessMutex', async () => {
      expect(await counted(java, 'mutex', 4, 100)).to.equal(400);
    });

    it("four threads of kazoo count to 100 with kazoo's lock", async () => {
      expect(await counted(kazoo, 'kazoo', 4, 25)).to.equal(100);
    });

    it('four owners count to 100 as leaders by LeaderLatch', async () => {
      expect(await counted(java, 'latch', 4, 25)).to.equal(100);
    });

    it('no reader of an InterProcessReadWriteLock sees a write, and no write is lost', async () => {
      using ledger = new Ledger();
      const work = (kind: string): Promise<void>[] =>
        ownersOf(java, 3, kind).map((owner) => owner.work(kind, path, ledger.folder, 20));
      await Promise.all([...work('read'), ...work('write')]);
      expect(ledger.count).to.equal(60);
      await childrenReach(0);
    });

    it('readers hold together, and a writer waits for both', async () => {
      const [first, second, writer] = ownersOf(java, 3) as [Owner, Owner, Owner];
      expect([await first.acquire('read', path), await second.acquire('read', path)]).to.deep.equal([true, true]);
      expect(await writer.acquire('write', path, 50)).to.equal(null);
      const writing = writer.acquire('write', path);
      await childrenReach(3);
      await first.release('read', path);
      await second.release('read', path);
      expect(await writing).to.equal(true);
      await writer.release('write', path);
    });

    it('of six threads with an InterProcessSemaphoreV2 of 3 leases, 3 are inside at once and never 4', async () => {
      using ledger = new Ledger();
      await Promise.all(ownersOf(java, 6).map((owner) => owner.work('semaphore:3', path, ledger.folder, 5)));
      const { crowds } = ledger;
      expect([crowds.length, Math.max(...crowds.map(({ inside }) => inside))]).to.deep.equal([30, 3]);
      await childrenReach(0, `${path}/leases`);
      await childrenReach(0, `${path}/locks`);
    });

    it('a LeaderLatch leads in the order in which its owners asked, and one that gives up leaves no znode', async () => {
      const order: string[] = [];
      const owners = ['first', 'second', 'third'].map((each) => ({ each, owner: java.owner(each) }));
      const leading = [];
      for (const [place, { each, owner }] of owners.entries()) {
        leading.push(owner.acquire('latch', path).then(() => order.push(each)));
        await childrenReach(place + 1);
      }
      await leading[0];
      expect(await java.owner('late').acquire('latch', path, 50), 'while another one leads').to.equal(null);
      const { owner: first } = owners[0] as { owner: Owner };
      expect(await first.isOwned('latch', path)).to.equal(true);
      // The latch that gave up creates and deletes its znode in the background.
      await until('the others take part', async () => {
        const all = await first.participants('latch', path);
        return String(all.sort()) === 'first,second,third';
      });
      for (const [place, { owner }] of owners.entries()) {
        await leading[place];
        await owner.release('latch', path);
      }
      expect(order).to.deep.equal(['first', 'second', 'third']);
      await childrenReach(0);
    });

    it('a LeaderLatch leads when the session of the leader, which was killed, is over', async () => {
      const victim = await startJava({ connectString: server.connectString, sessionTimeoutMs: 5_000 });
      await victim.owner('leader').acquire('latch', path);
      const [heir] = ownersOf(java, 1) as [Owner];
      const leads = heir.acquire('latch', path);
      await childrenReach(2);
      await victim.kill();
      expect(await leads).to.match(/latch-/);
      await childrenReach(1);
      await heir.release('latch', path);
    });
  });

/** `count` threads of a peer. */
function ownersOf(peer: Peer, count: number, name = 'owner'): Owner[] {
  return Array.from({ length: count }, (_, index) => peer.owner(`${name}-${index}`));
}

function isAscending(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}
