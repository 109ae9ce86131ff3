// npm run bench [-- --rounds 5 --seconds 3 --warm-up 12 --only 'solo, 5 ms links' | --brief]
import { execFileSync, spawnSync } from 'node:child_process';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startContestants } from './contestants.ts';
import { DelayedLinks } from './links/delayed-links.ts';
import { measure, summary, type Run } from './measure.ts';
import { readOptions } from './options.ts';
import { Ours } from './peers/ours.ts';
import type { Scenario } from './peers/peer.ts';
import { Raw } from './peers/raw.ts';
import type { Addresses } from './places.ts';
import { publish } from './publish.ts';
import { report } from './report.ts';
import type { MoreResults, PeerName, Results } from './results.ts';
import { growth, isBriefScenario, scenarios, takesPart } from './scenarios.ts';
import { startZooKeeper } from './services/zookeeper.ts';
import { measureSticky } from './sticky.ts';
import { otherVersions } from './versions.ts';

const options = readOptions(process.argv.slice(2));
const { isBrief, only } = options;
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const loadBefore = loadavg()[0] ?? NaN;
const chosen = scenarios.filter(
  (scenario) => (!isBrief || isBriefScenario(scenario)) && (only === undefined || only.includes(scenario.name)),
);
if (chosen.length === 0)
  throw new RangeError(`Expected --only to be one of: ${scenarios.map(({ name }) => name).join('; ')}`);

await using links = await DelayedLinks.start();
await using zooKeeper = await startZooKeeper({ links, isBrief });
await using contestants = await startContestants(zooKeeper, { links, isBrief });
for (const [peer, missing] of Object.entries(contestants.skipped))
  console.log(`${peer}: skipped, ${missing} is missing`);
await warmUp();

const results: Results = {
  date: new Date().toISOString(),
  machine: `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB`,
  versions: {
    Node: process.version,
    ZooKeeper: zooKeeper.version,
    ...otherVersions(contestants.all.map(({ name }) => name)),
  },
  rounds: options.rounds,
  secondsOfRun: options.durationMs / 1_000,
  loadBefore,
  skipped: contestants.skipped,
  scenarios: await contest(),
  ...(only === undefined && { more: await measureMore() }),
};
console.log(report(results));
if (!isBrief && only === undefined) {
  publish(results, here('..'));
  execFileSync('git', ['--no-pager', 'diff', '--stat', '--', here('../docs')], { stdio: 'inherit' });
}

/** A server's Java code becomes fast after some seconds of work. The raw requests are the work. */
async function warmUp(): Promise<void> {
  if (options.warmUpMs === 0) return;
  const raw = new Raw(zooKeeper.addresses);
  const names = (Object.keys(zooKeeper.addresses) as (keyof Addresses)[]).filter((place) => !place.endsWith('links'));
  for (const place of names) {
    await raw.run({ name: 'warm-up', owners: 64, sessions: 1, locks: 64, place }, options.warmUpMs / 2);
    await raw.run({ name: 'warm-up', owners: 64, sessions: 64, locks: 1, place }, options.warmUpMs / 2);
  }
  await raw.close();
}

/** Round by round and peer by peer, so that a disturbance of the machine hits all peers alike. */
async function contest(): Promise<Results['scenarios']> {
  const runs = new Map<string, Map<PeerName, Run[]>>();
  for (let round = isBrief ? 1 : 0; round <= options.rounds; round += 1) {
    for (const scenario of chosen) {
      for (const { name, peer, service } of contestants.all) {
        if (!takesPart(name, scenario)) continue;
        const run = await measure(
          peer,
          scenario,
          round === 0 ? Math.ceil(options.durationMs / 3) : options.durationMs,
          service,
        );
        if (round === 0) continue; // the first round only warms up
        console.log(
          `round ${round}  ${scenario.name.padEnd(22)} ${name.padEnd(16)} ${Math.round(run.cyclesPerSecond)} cycles/s`,
        );
        const byPeer = runs.get(scenario.name) ?? new Map<PeerName, Run[]>();
        runs.set(scenario.name, byPeer.set(name, [...(byPeer.get(name) ?? []), run]));
      }
    }
  }
  return Object.fromEntries(
    [...runs].map(([scenario, byPeer]) => [
      scenario,
      Object.fromEntries([...byPeer].map(([peer, all]) => [peer, summary(all)])),
    ]),
  );
}

async function measureMore(): Promise<MoreResults> {
  return {
    growth: { waiters: await grow(growth.waiters), sessions: await grow(growth.sessions) },
    sticky: await measureSticky(zooKeeper.connectString, options.durationMs, options.rounds),
    heapBytesPerWaiter: heap(isBrief ? 100 : 10_000),
  };
}

async function grow(points: readonly Scenario[]): Promise<MoreResults['growth']['waiters']> {
  const ours = new Ours(zooKeeper.addresses);
  const measured = points.filter((point) => !isBrief || isBriefScenario(point));
  const runs = new Map<string, Run[]>(measured.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const point of measured) runs.get(point.name)?.push(await measure(ours, point, options.durationMs, zooKeeper));
  }
  await ours.close();
  return [...runs].map(([name, all]) => ({ name, ours: summary(all) }));
}

function heap(waiters: number): number {
  const child = spawnSync(
    process.execPath,
    ['--expose-gc', '--import=tsx', here('heap.ts'), zooKeeper.connectString, String(waiters)],
    { encoding: 'utf8' },
  );
  if (child.status !== 0) throw new Error(`bench/heap.ts failed: ${child.stderr}`);
  return Number(child.stdout);
}
