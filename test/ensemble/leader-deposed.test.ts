import { exists, sync } from '../../src/zookeeper/wire/operations.ts';
import { ConnectionProbe } from '../../lab/wire/connection-probe.ts';
import { serverMode } from '../../lab/servers/four-letter-word.ts';
import { Contest, longTimeoutMs, shortTimeoutMs, wantedBy } from './support/rivals.ts';
import { despiteSlowElections } from './support/slow-elections.ts';
import { has } from '../../lab/servers/versions.ts';
import { useTrio } from '../../lab/servers/trio.ts';
import { until } from '../../lab/until.ts';

describe('a leader that is cut off from its followers', function () {
  this.timeout(60_000);
  const used = useTrio();

  for (const round of [1, 2, 3])
    it(`goes on answering its clients, and holders are told before the next leader grants their locks to others (${round} of 3)`, async () => {
      const roles = await used.trio.whole();
      const [leader, one, other] = roles;
      // A follower notices the cut when it forwards a request of its own client.
      const waiterOn = [
        [one, other],
        [other, one],
      ];
      await using contest = await Contest.begin(
        [false, true, true, false].map((knowTick, index) => ({
          holderOn: [leader],
          waiterOn: waiterOn[index % 2] ?? [],
          sessionTimeoutMs: shortTimeoutMs,
          knowTick,
          wanted: wantedBy(index),
        })),
      );
      using reader = await ConnectionProbe.connect([leader.port], { sessionTimeoutMs: 60_000 });
      contest.all.forEach((rivals) => rivals.keepReading());
      await used.trio.cutLeaderOff(roles);
      await contest.each((rivals) => rivals.loses('a leader deposed with its clients'));
      await until('it still leads', async () => (await serverMode('127.0.0.1', leader.port)) === 'leader');
      if (!has('reads beside writes')) return;
      await reader.send(exists('/'));
      await reader.send(sync('/'));
    });

  it('takes no lock from holders that know the other servers: their sessions move there', async function () {
    this.timeout(180_000);
    await despiteSlowElections(used.trio, async (election) => {
      const roles = await used.trio.whole();
      const [leader, one, other] = roles;
      await using contest = await Contest.begin(
        [
          [one, other],
          [other, one],
        ].map((servers, index) => ({
          holderOn: [leader, ...servers],
          waiterOn: servers,
          sessionTimeoutMs: longTimeoutMs,
          knowTick: index === 0,
        })),
      );
      // Both followers notice the cut at once, so that there is another leader when the holders look for one.
      const probes = await Promise.all([one, other].map(({ port }) => ConnectionProbe.connect([port])));
      await used.trio.cutLeaderOff(roles);
      const cutAt = performance.now();
      const noticed = probes.map((probe) => probe.send(sync('/')).catch(() => undefined));
      const modes = (): Promise<unknown[]> =>
        Promise.all([one, other].map(({ port }) => serverMode('127.0.0.1', port)));
      const elected = until('one of the others leads', async () => (await modes()).includes('leader'));
      await election(Promise.all([...noticed, elected]));
      probes.forEach((probe) => probe[Symbol.dispose]());
      await contest.each((rivals) => rivals.outlives(cutAt));
      await contest.each((rivals) => rivals.handsOver());
    });
  });
});
