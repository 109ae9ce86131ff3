import { expect } from 'chai';
import { LeaderElection, revoke, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Ledger } from '../../lab/programs/interop/ledger.ts';
import { peersOfSuite, startJava, startNode } from '../../lab/programs/interop/peers.ts';
import { RunningTime } from '../../lab/running-time.ts';
import { until } from '../../lab/until.ts';

/** The tick of the servers that the tests start. */
const tickTimeMs = 500;

/** The time from the end of a session until the next leader knows its term, on a machine that holds nothing up. */
const slackMs = 300;

for (const [protocol, theirs] of [
  ['latch', 'LeaderLatch'],
  ['selector', 'LeaderSelector'],
] as const)
  describe(`an election that is shared with Java's ${theirs}`, () => {
    const lab = labOfEachTest(`election-${protocol}`);
    const suite = peersOfSuite('java');
    const election = (id = 'ours'): LeaderElection => new LeaderElection(lab.client, lab.path, { id, protocol });
    const candidates = (count: number): Promise<void> =>
      until(`${count} candidates`, async () => (await election().participants()).length === count);

    it('hands over 200 times each way, and never has two leaders', async function () {
      this.timeout(120_000);
      using ledger = new Ledger();
      await using node = await startNode();
      const owners = [suite.java.owner('a'), node.owner('b')];
      const handOvers = (from: string, to: string): number => {
        const by = ledger.grants.map((grant) => grant.by);
        return by.filter((one, index) => one === to && by[index - 1] === from).length;
      };
      let rounds = 0;
      // On a busy machine one of them leads twice in a row more often.
      do {
        await Promise.all(owners.map((owner) => owner.work(protocol, lab.path, ledger.folder, 100)));
        rounds += 200;
        expect(ledger.count, 'a lost update means two leaders').to.equal(rounds);
      } while (handOvers('java', 'node') < 200 || handOvers('node', 'java') < 200);
      // Java's latch deletes its znode in the background.
      await lab.queueReaches(0);
    });

    it('shows the same leader and the same candidates to both', async () => {
      const java = suite.java.owner(`shown-${protocol}`);
      const term = await election('host-7').campaign();
      expect(await java.leader(protocol, lab.path)).to.equal('host-7');
      const leading = java.acquire(protocol, lab.path);
      await candidates(2);
      const shown = (await election().participants()).map(({ id, isLeader }) => [id, isLeader]);
      expect(shown).to.deep.equal([
        ['host-7', true],
        [`shown-${protocol}`, false],
      ]);
      await term.release();
      await leading;
      expect((await election().leader())?.id).to.equal(`shown-${protocol}`);
      await java.release(protocol, lab.path);
      // Java's latch deletes its znode in the background.
      await until('nobody leads', async () => (await election().leader()) === undefined);
    });

    it('elects ours when a Java leader is killed, and Java when ours resigns', async function () {
      this.timeout(60_000);
      const victim = await startJava({ sessionTimeoutMs: 4_000 });
      await victim.owner('victim').acquire(protocol, lab.path);
      const ours = election().campaign();
      await candidates(2);
      const java = suite.java.owner(`next-${protocol}`);
      const next = java.acquire(protocol, lab.path);
      await candidates(3);
      await victim.kill();
      const term = await ours;
      expect(term.isValid).to.equal(true);
      await term.release();
      await next;
      await java.release(protocol, lab.path);
    });

    it('has the next leader within the session timeout and a tick after a leader is killed', async function () {
      this.timeout(60_000);
      const sessionTimeoutMs = 4_000;
      const victim = await startNode({ sessionTimeoutMs });
      await victim.owner('victim').acquire(protocol, lab.path);
      const next = election().campaign();
      await candidates(2);
      await victim.kill();
      using sinceKill = new RunningTime(() => lab.observer.exists('/'));
      await using _term = await next;
      expect(sinceKill.ms).to.be.below(sessionTimeoutMs + tickTimeMs + slackMs);
    });

    it('asks our leader to resign by its znode, which has its id', async () => {
      const asked = new Promise<Hold>((resolve) => {
        const one = election('asked');
        one.makeRevocable(resolve);
        void one.campaign();
      });
      await candidates(1);
      const [leader] = await election().participants();
      expect(leader?.id).to.equal('asked');
      await revoke(lab.client, leader?.path ?? '');
      expect(await (await asked).release()).to.equal('released');
    });
  });
