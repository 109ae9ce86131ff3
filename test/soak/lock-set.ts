// npm run suite -- lock-set [--seeds 1,2,3 --seconds 120]: Jepsen's test "lock-set", which the locks of etcd fail. Processes add
// elements to a set: take the lock, read the set, and write it back with one element more. Meanwhile some of the
// processes are stopped for longer than their session lasts. An element that was added and is missing in the end is a
// lost update. Three ways to write: without a look at the lock, after a look at `hold.isValid`, and by
// `hold.transaction()`.
import { parseArgs } from 'node:util';
import { Random } from '../../lab/random.ts';
import { startServer } from '../../lab/servers/zookeeper-server.ts';
import { PlainClient } from '../../lab/wire/plain-client.ts';
import { openAcl, sessionTimeoutMs, ways, type Way } from './lock-set/run.ts';
import { SetWorker } from './lock-set/set-worker.ts';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1,2,3,4,5,6,7,8,9,10' }, seconds: { type: 'string', default: '120' } },
});
const seeds = values.seeds.split(',').map(Number);
const runMs = Number(values.seconds) * 1_000;
if (seeds.some((seed) => !Number.isInteger(seed)) || !(runMs > 0))
  throw new RangeError(`Expected --seeds 1,2,3 and --seconds 120, got ${values.seeds} and ${values.seconds}`);

const workersEach = 3;

interface Outcome {
  readonly added: number;
  readonly lost: number;
  readonly pauses: number;
}

await using server = await startServer({ tickTimeMs: 500 });
const crews = ways.map((way) => ({ way, workers: Array.from({ length: workersEach }, () => new SetWorker()) }));
const total: Record<Way, Outcome> = {
  bare: { added: 0, lost: 0, pauses: 0 },
  isValid: { added: 0, lost: 0, pauses: 0 },
  guarded: { added: 0, lost: 0, pauses: 0 },
};

console.log(
  `lock-set: ${workersEach} processes for each way, sessions of ${sessionTimeoutMs} ms, ${runMs / 1_000} s for each seed`,
);
try {
  for (const seed of seeds) {
    const outcomes = await Promise.all(crews.map((crew) => runOne(seed, crew)));
    for (const [index, { way }] of crews.entries()) {
      const outcome = outcomes[index];
      if (outcome) total[way] = sum(total[way], outcome);
    }
    console.log(`seed ${seed}: ${crews.map(({ way }, index) => `${way} ${text(outcomes[index])}`).join('; ')}`);
  }
} finally {
  for (const { workers } of crews) for (const worker of workers) worker.kill();
}
console.log(`in all: ${ways.map((way) => `${way} ${text(total[way])}`).join('; ')}`);
if (total.guarded.lost > 0) process.exitCode = 1;

async function runOne(seed: number, { way, workers }: (typeof crews)[number]): Promise<Outcome> {
  const observer = await PlainClient.connect(server.connectString);
  const path = `/set-${way}-${seed}`;
  await observer.create(path, openAcl);
  await observer.setData(path, Buffer.from('[]'));
  const until = performance.now() + runMs;
  const run = { connectString: server.connectString, way, path, seed, runMs };
  const adding = workers.map((worker, index) => worker.run({ ...run, name: `${seed}.${index}` }));
  // The same schedule for each way.
  const pauses = await pauseNowAndThen(new Random(seed, 0), workers, until);
  const added = (await Promise.all(adding)).flat();
  await observer.close();
  // A new connection, because node-zookeeper-client may have lost the old one during the run.
  const reader = await PlainClient.connect(server.connectString);
  const there = new Set(JSON.parse(String(await reader.getData(path))) as string[]);
  await reader.close();
  return { added: added.length, lost: added.filter((element) => !there.has(element)).length, pauses };
}

/** Stops one process after the other, each for longer than its session lasts. */
async function pauseNowAndThen(random: Random, workers: readonly SetWorker[], until: number): Promise<number> {
  let pauses = 0;
  for (;;) {
    await pass(random.between(500, 2_000));
    const worker = workers[random.whole(workers.length)];
    const forMs = random.between(sessionTimeoutMs * 1.1, sessionTimeoutMs * 2);
    if (performance.now() + forMs > until) return pauses;
    worker?.signal('SIGSTOP');
    await pass(forMs);
    worker?.signal('SIGCONT');
    pauses += 1;
  }
}

function sum(a: Outcome, b: Outcome): Outcome {
  return { added: a.added + b.added, lost: a.lost + b.lost, pauses: a.pauses + b.pauses };
}

function text(outcome: Outcome | undefined): string {
  return outcome ? `lost ${outcome.lost} of ${outcome.added} (${outcome.pauses} pauses)` : 'nothing';
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
