import { expect } from 'chai';
import type { LockClient } from '../../src/index.ts';
import { exists } from '../../src/zookeeper/wire/operations.ts';
import { connectToFirst } from '../../lab/lock-clients.ts';
import { until } from '../../lab/until.ts';
import { Contest, longTimeoutMs, shortTimeoutMs, wantedBy } from './support/rivals.ts';
import { tickTimeMs, useTrio } from '../../lab/servers/trio.ts';
import { RunningTime } from '../../lab/running-time.ts';

/** The delay that a timer may have in a process that runs. */
const slackMs = 400;

describe('a link between a client and its server that is silently dead', function () {
  this.timeout(60_000);
  const used = useTrio();

  it('is noticed after two thirds of the session timeout by a client without a lock, and the session goes on at the next server', async () => {
    const [leader, follower, other] = await used.trio.whole();
    const connected = [false, true].flatMap((knowTick) =>
      [false, true].map(async (asks) => ({
        asks,
        client: await connectToFirst([follower, other, leader], {
          sessionTimeoutMs: longTimeoutMs,
          ...(knowTick && { tickTimeMs }),
        }),
      })),
    );
    const clients = await Promise.all(connected);
    await until(
      'all have the answer to a ping',
      () =>
        clients.every(
          ({ client: { session } }) => session.connection.heardAt > session.connection.connectedAt + longTimeoutMs / 4,
        ),
      longTimeoutMs,
    );
    await used.trio.cutClientsOff(follower);
    using sinceCut = new RunningTime();
    await Promise.all(
      clients.map(async ({ client, asks }) => {
        const { id } = client.session;
        // A client without requests notices the cut by its next ping.
        if (asks) client.session.request(exists('/')).catch(() => undefined);
        await noticed(client, sinceCut, (longTimeoutMs * 2) / 3);
        await goesOn(client, id);
        await client.close();
      }),
    );
  });

  it('is noticed after a quarter of the session timeout by a client with a lock, which it keeps', async () => {
    const [leader, follower, other] = await used.trio.whole();
    await using contest = await Contest.begin(
      [false, true, false, true].map((knowTick) => ({
        holderOn: [follower, other, leader],
        waiterOn: [leader, other],
        sessionTimeoutMs: longTimeoutMs,
        knowTick,
      })),
    );
    await used.trio.cutClientsOff(follower);
    const cutAt = performance.now();
    using sinceCut = new RunningTime();
    await contest.each(async ({ holder }) => {
      const { id } = holder.session;
      holder.session.request(exists('/')).catch(() => undefined);
      await noticed(holder, sinceCut, longTimeoutMs / 4);
      expect(holder.state).to.equal('suspended');
      await goesOn(holder, id);
    });
    await contest.each((rivals) => rivals.outlives(cutAt));
    await contest.each((rivals) => rivals.handsOver());
  });

  for (const round of [1, 2, 3])
    it(`costs a holder that knows no other server its lock, and the holder is told before the next grant (${round} of 3)`, async () => {
      const [leader, follower, other] = await used.trio.whole();
      await using contest = await Contest.begin(
        [false, true, true, false].map((knowTick, index) => ({
          holderOn: [follower],
          waiterOn: [leader, other],
          sessionTimeoutMs: shortTimeoutMs,
          knowTick,
          wanted: wantedBy(index),
        })),
      );
      contest.all.forEach((rivals) => rivals.keepReading());
      await used.trio.cutClientsOff(follower);
      await contest.each((rivals) => rivals.loses('a link that is silently dead'));
    });
});

/** Waits until the client gives its connection up. */
async function noticed({ session }: LockClient, sinceCut: RunningTime, withinMs: number): Promise<void> {
  await new Promise<void>((resolve) => session.onChange(() => session.state.at === 'suspended' && resolve()));
  expect(sinceCut.ms - withinMs, 'milliseconds too late').to.be.below(slackMs);
}

async function goesOn(client: LockClient, id: bigint): Promise<void> {
  await until('it is connected again', () => client.state === 'reconnected');
  expect(client.session.id).to.equal(id);
  await client.session.request(exists('/'));
}
