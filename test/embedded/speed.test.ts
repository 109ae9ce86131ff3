import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { EmbeddedZooKeeper } from '../../src/testing/index.ts';

const wide = 64;
const cyclesPerCpuSecond = 5_000;

describe('an embedded ZooKeeper under load', () => {
  it(`serves ${cyclesPerCpuSecond} lock cycles per second of one core, which it shares with its client, ${wide} in parallel`, async function () {
    this.timeout(20_000);
    await using zk = await EmbeddedZooKeeper.start();
    await using client = await LockClient.connect(zk.connectString);
    const mutexes = Array.from({ length: wide }, (_, number) => new InterProcessMutex(client, `/locks/${number}`));
    const speeds: number[] = [];
    for (let run = 0; run < 3; run += 1) speeds.push(await speedOf(mutexes));
    // The first run warms up the compiler. The speed counts CPU time and not clock time, so that other programs of the
    // machine do not matter.
    expect(Math.max(...speeds)).to.be.above(cyclesPerCpuSecond);
  });
});

async function speedOf(mutexes: readonly InterProcessMutex[]): Promise<number> {
  const endsAt = performance.now() + 700;
  const before = process.cpuUsage();
  let cycles = 0;
  await Promise.all(
    mutexes.map(async (mutex) => {
      while (performance.now() < endsAt) {
        const hold = await mutex.acquire();
        await hold.release();
        cycles += 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  return cycles / ((user + system) / 1e6);
}
