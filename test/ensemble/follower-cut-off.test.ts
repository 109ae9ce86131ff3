import { exists } from '../../src/zookeeper/wire/operations.ts';
import { ConnectionProbe } from '../../lab/wire/connection-probe.ts';
import { serverMode } from '../../lab/servers/four-letter-word.ts';
import { Contest, longTimeoutMs, shortTimeoutMs, wantedBy } from './support/rivals.ts';
import { has } from '../../lab/servers/versions.ts';
import { useTrio } from '../../lab/servers/trio.ts';
import { until } from '../../lab/until.ts';

describe('a follower that is cut off from its leader', function () {
  this.timeout(60_000);
  const used = useTrio();

  for (const round of [1, 2, 3])
    it(`goes on answering its clients, and holders are told before the leader grants their locks to others (${round} of 3)`, async () => {
      const roles = await used.trio.whole();
      const [leader, follower, other] = roles;
      await using contest = await Contest.begin(
        [false, true, true, false].map((knowTick, index) => ({
          holderOn: [follower],
          waiterOn: [leader, other],
          sessionTimeoutMs: shortTimeoutMs,
          knowTick,
          wanted: wantedBy(index),
        })),
      );
      using reader = await ConnectionProbe.connect([follower.port], { sessionTimeoutMs: 60_000 });
      contest.all.forEach((rivals) => rivals.keepReading());
      await used.trio.cutFollowerOff(roles, follower);
      await contest.each((rivals) => rivals.loses('a follower cut off from its leader'));
      await until('it still follows', async () => (await serverMode('127.0.0.1', follower.port)) === 'follower');
      if (has('reads beside writes')) await reader.send(exists('/'));
    });

  it('takes no lock from holders that know the other servers: their sessions move there', async () => {
    const roles = await used.trio.whole();
    const [leader, follower, other] = roles;
    await using contest = await Contest.begin(
      [false, true].map((knowTick) => ({
        holderOn: [follower, other, leader],
        waiterOn: [leader, other],
        sessionTimeoutMs: longTimeoutMs,
        knowTick,
      })),
    );
    await used.trio.cutFollowerOff(roles, follower);
    const cutAt = performance.now();
    await contest.each((rivals) => rivals.outlives(cutAt));
    await contest.each((rivals) => rivals.handsOver());
  });
});
