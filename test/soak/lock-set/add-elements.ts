// A process of lock-set: adds elements until its time is over, and reports those whose write was answered.
import { InterProcessMutex, LockClient, type Hold } from '../../../src/index.ts';
import { PlainClient } from '../../../lab/wire/plain-client.ts';
import { Random } from '../../../lab/random.ts';
import { sessionTimeoutMs, type SetRun } from './run.ts';

process.on('message', (run: SetRun) => void addElements(run).then((added) => process.send?.(added)));
process.on('disconnect', () => process.exit());

async function addElements({ connectString, way, path, name, seed, runMs }: SetRun): Promise<string[]> {
  const random = new Random(seed, Number(name.split('.')[1]) + 1);
  const until = performance.now() + runMs;
  const client = await LockClient.connect(connectString, { sessionTimeoutMs, tickTimeMs: 500 });
  const mutex = new InterProcessMutex(client, `${path}-lock`);
  // Reads the set, and writes it where the lock is not asked.
  let plain = await PlainClient.connect(connectString);
  const added: string[] = [];
  for (let count = 0; performance.now() < until; count += 1) {
    const hold = await mutex.acquire();
    try {
      if (!plain.isConnected) plain = await PlainClient.connect(connectString);
      const element = `${name}.${count}`;
      const set = JSON.parse(String(await plain.getData(path))) as string[];
      await pass(random.between(0, 30));
      if (way === 'isValid' && !hold.isValid) continue;
      // Between the look at the lock and the write there is always some work, here a few milliseconds.
      await pass(random.between(0, 10));
      const data = Buffer.from(JSON.stringify([...set, element]));
      await write(hold, data);
      added.push(element);
    } catch {
      // Not done, or unknown: the element is not counted as added.
    } finally {
      await hold.release();
    }
  }
  await plain.close().catch(() => undefined);
  await client.close();
  return added;

  async function write(hold: Hold, data: Buffer): Promise<void> {
    if (way === 'guarded') await hold.transaction().setData(path, data).commit();
    else await plain.setData(path, data);
  }
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
