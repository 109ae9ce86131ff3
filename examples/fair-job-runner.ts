// One job at a time, whichever host takes it, and the hosts in the order in which they asked. Start it on each of them:
//   node fair-job-runner.js <name of the host> <folder that all of them see>
// The folder stands for your job table: `todo` has a file for each job, `done` gets one for each that was done.
import assert from 'node:assert/strict';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient, type Hold } from 'zookeeper-fair-lock';

const [host = 'host', folder = '.'] = process.argv.slice(2);
const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';

const client = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/jobs');
mutex.on('queued', ({ position }) => console.log(`${host} is in line behind ${position}`));

// Fair: whoever has had a turn queues up again behind all who wait.
while (await mutex.withLock(takeTurn));
await client.close();

/** Does the oldest job. Returns false when there is none. */
async function takeTurn(hold: Hold): Promise<boolean> {
  const [job] = (await readdir(`${folder}/todo`)).sort();
  if (job === undefined) return false;

  // Nobody else on any host is in here: if somebody were, this file would be there.
  await writeFile(`${folder}/working`, host, { flag: 'wx' });
  await work(job, hold.signal);
  await rm(`${folder}/working`);

  // The token of each turn is greater than those of all turns before it.
  const turns = (await readdir(`${folder}/done`)).map((name) => BigInt(name.split(' ')[0] ?? ''));
  assert.ok(turns.every((token) => token < hold.fencingToken));
  hold.assertValid();
  await rename(`${folder}/todo/${job}`, `${folder}/done/${hold.fencingToken} ${job} ${host}`);
  console.log(`${host} did ${job}`);
  return true;
}

/** Stops as soon as the lock is lost: the next host may be at it then. */
async function work(_job: string, signal: AbortSignal): Promise<void> {
  await delay(5, undefined, { signal });
}
