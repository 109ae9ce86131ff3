// Does one job at a time, on any host. The hosts take turns in the order in which they asked. Start it on each host:
// node fair-job-runner.js <name of the host> <folder that all hosts can see>
// The folder stands for your job table: `todo` has one file per job, and `done` gets one file for each finished job.
import assert from 'node:assert/strict';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient, type Hold } from 'zookeeper-fair-lock';

const [host = 'host', folder = '.'] = process.argv.slice(2);
const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';

const client = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/jobs');
mutex.on('queued', ({ position }) => console.log(`${host} is queued behind ${position}`));

// Fair: a host that has had its turn queues up again behind all waiting hosts.
while (await mutex.withLock(takeTurn));
await client.close();

/** Does the oldest job. Returns false if there is none. */
async function takeTurn(hold: Hold): Promise<boolean> {
  const [job] = (await readdir(`${folder}/todo`)).sort();
  if (job === undefined) return false;

  // No other host can be in here: if one were, the file would exist, and this write would fail.
  await writeFile(`${folder}/working`, host, { flag: 'wx' });
  await work(job, hold.signal);
  await rm(`${folder}/working`);

  // The token of each turn is greater than the tokens of all earlier turns.
  const turns = (await readdir(`${folder}/done`)).map((name) => BigInt(name.split(' ')[0] ?? ''));
  assert.ok(turns.every((token) => token < hold.fencingToken));
  hold.assertValid();
  await rename(`${folder}/todo/${job}`, `${folder}/done/${hold.fencingToken} ${job} ${host}`);
  console.log(`${host} did ${job}`);
  return true;
}

/** Stops as soon as the lock is lost, because the next host may already hold it. */
async function work(_job: string, signal: AbortSignal): Promise<void> {
  await delay(5, undefined, { signal });
}
