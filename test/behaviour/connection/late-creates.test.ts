import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { connectToFirst } from '../../../lab/lock-clients.ts';
import { testPath } from '../../../lab/test-path.ts';
import { VirtualEnsemble } from '../../../lab/servers/virtual/virtual-ensemble.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { dial } from '../../../lab/wire/wire-client.ts';
import { until } from '../../../lab/until.ts';
import { sleep, virtualMachine } from '../../../lab/world.ts';

// Real servers do not let a test time the arrivals at the leader: see test/ensemble/late-creates.test.ts.
const machine = virtualMachine;
if (machine)
  describe('a create that the leader carries out late, when a cut follower is heard again', () => {
    const sessionTimeoutMs = 4_000;

    for (const [client, cutMs, longestMs] of [
      ['whose client goes on', 100, 500],
      ['whose client is quiet', 10_000, 2 * sessionTimeoutMs],
    ] as const)
      it(`does not block the lock: ${client}`, async () => {
        const isHolder = cutMs < sessionTimeoutMs;
        await using ensemble = await VirtualEnsemble.start(machine, 3, { config: { syncLimit: 60 } });
        const leader = ensemble.servers[ensemble.ensemble.leader ?? -1];
        const [follower, other] = ensemble.servers.filter((server) => server !== leader);
        if (!leader || !follower || !other) throw new Error('There are three members');
        await using observer = await connectObserver(leader.connectString);
        await using rival = await LockClient.connect(leader.connectString, { sessionTimeoutMs });
        await using late = await connectToFirst([follower, other], { sessionTimeoutMs });
        const path = testPath('late-create');
        const mutex = new InterProcessMutex(late, path);
        await mutex.withLock(() => undefined);

        const { id, password, lastZxid } = late.session.connection.identity;
        const cut = ensemble.servers.indexOf(follower);
        ensemble.ensemble.cut(cut);
        const hold = await mutex.acquire();
        expect(await observer.children(path)).to.have.length(1);
        if (!isHolder) await hold.release();
        // As an attempt that the client made before it went to the other server.
        using _ = dial(follower.port, sessionTimeoutMs, { sessionId: id.readBigInt64BE(), password }, Number(lastZxid));
        await sleep(cutMs); // a quiet session sends only pings
        ensemble.ensemble.heal(cut);
        await sleep(20);
        if (isHolder) await hold.release();
        const healedAt = performance.now();
        const next = await new InterProcessMutex(rival, path).withLock((held) => numberOf(held.path));
        expect(performance.now() - healedAt).to.be.below(longestMs);
        // The late create took the number between them, although its znode may be gone at once.
        expect(next - numberOf(hold.path)).to.equal(2);
        await until('no znode is left', async () => (await observer.children(path)).length === 0);
      });
  });

/** The number that the servers gave to a znode. */
function numberOf(path: string): number {
  return Number(path.slice(-10));
}
