import { exists } from '../../src/zookeeper/wire/operations.ts';
import { Contest, longTimeoutMs, shortTimeoutMs } from './support/rivals.ts';
import { tickTimeMs, useTrio } from '../../lab/servers/trio.ts';

const rounds = 3;

/** A follower tells the leader from which clients it heard when the leader pings it. */
const pingIntervalMs = tickTimeMs / 2;

/** The leader expires sessions at full ticks, and each of these timeouts meets a tick at another phase. */
const sessionTimeoutsMs = [0, 1, 2, 3, 4].map((fifth) => shortTimeoutMs + (fifth * tickTimeMs) / 5);

describe('a follower that is killed right after an answer', function () {
  this.timeout(60_000);
  const used = useTrio();

  for (let round = 1; round <= rounds; round += 1)
    it(`has not reported the client to its leader, and holders are told before the leader grants their locks to others (${round} of ${rounds})`, async () => {
      const [leader, follower, other] = await used.trio.whole();
      await using contest = await Contest.begin(
        sessionTimeoutsMs.map((sessionTimeoutMs, index) => ({
          holderOn: [follower],
          waiterOn: [leader, other],
          sessionTimeoutMs,
          knowTick: (index + round) % 2 === 0,
        })),
      );
      await phase(round / rounds, pingIntervalMs);
      await contest.each(({ holder }) => holder.session.request(exists('/')));
      await follower.kill();
      await contest.each((rivals) => rivals.loses('a follower killed after an answer'));
    });

  it('takes no lock from holders that know the other servers: their sessions move there', async () => {
    const [leader, follower, other] = await used.trio.whole();
    await using contest = await Contest.begin(
      [false, true].map((knowTick) => ({
        holderOn: [follower, other, leader],
        waiterOn: [leader, other],
        sessionTimeoutMs: longTimeoutMs,
        knowTick,
      })),
    );
    await follower.kill();
    const killedAt = performance.now();
    await contest.each((rivals) => rivals.outlives(killedAt));
    await contest.each((rivals) => rivals.handsOver());
  });
});

/** Resolves at the next time that is `part` of an interval after a multiple of the interval. */
async function phase(part: number, intervalMs: number): Promise<void> {
  const now = performance.now();
  await new Promise((resolve) => setTimeout(resolve, (Math.floor(now / intervalMs) + 1 + part) * intervalMs - now));
}
