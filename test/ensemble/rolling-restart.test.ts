import type { ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { Contest, longTimeoutMs } from './support/rivals.ts';
import { despiteSlowElections } from './support/slow-elections.ts';
import { useTrio } from '../../lab/servers/trio.ts';

describe('a rolling restart', function () {
  this.timeout(60_000);
  const used = useTrio();

  for (const leaderRestarts of ['first', 'last'] as const)
    it(`takes no lock from its holder, and no place from a waiter (the leader restarts ${leaderRestarts})`, async function () {
      this.timeout(180_000);
      await despiteSlowElections(used.trio, async (election) => {
        const [leader, ...followers] = await used.trio.whole();
        await using contest = await Contest.begin(
          [0, 1, 2, 3].map((turn) => ({
            holderOn: turned(used.trio.servers, turn),
            waiterOn: turned(used.trio.servers, turn + 1),
            sessionTimeoutMs: longTimeoutMs,
            knowTick: turn % 2 === 0,
          })),
        );
        let lastDownAt = 0;
        for (const server of leaderRestarts === 'first' ? [leader, ...followers] : [...followers, leader]) {
          await server.kill();
          lastDownAt = performance.now();
          await server.start();
          await election(used.trio.whole());
          await contest.each((rivals) => rivals.stillHolds());
        }
        await contest.each((rivals) => rivals.outlives(lastDownAt));
        await contest.each((rivals) => rivals.handsOver());
      });
    });
});

function turned(servers: readonly ZooKeeperServer[], by: number): ZooKeeperServer[] {
  const at = by % servers.length;
  return [...servers.slice(at), ...servers.slice(0, at)];
}
