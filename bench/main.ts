// npm run bench [-- --rounds 5 --seconds 3 | --brief]
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startServer, type ZooKeeperServer } from '../harness/zookeeper-server.ts';
import { measure, summary, type Run } from './measure.ts';
import { readOptions } from './options.ts';
import { Curator } from './peers/curator.ts';
import { Ours } from './peers/ours.ts';
import type { Peer, Scenario } from './peers/peer.ts';
import { Raw } from './peers/raw.ts';
import { bars, lines } from './plot.ts';
import { tables } from './report.ts';
import { speedOf, type PeerName, type Results } from './results.ts';
import { measureSticky } from './sticky.ts';
import { growth, scenarios, takesPart } from './scenarios.ts';

const options = readOptions(process.argv.slice(2));
const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const loadBefore = loadavg()[0] ?? NaN;
await using server = await startServer({ tickTimeMs: 2_000 });

const missing = Curator.missing();
const peers: Partial<Record<PeerName, Peer>> = {
  ours: new Ours(server.connectString),
  raw: new Raw(server.connectString),
  ...(missing === undefined && { curator: await Curator.start(server.connectString) }),
};
if (missing !== undefined) console.log(`Java Curator is skipped, because this is missing: ${missing}`);

const results: Results = {
  date: new Date().toISOString(),
  machine: `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB`,
  versions: {
    Node: process.version,
    ZooKeeper: await version(server),
    ...(missing === undefined && { 'Java Curator': '5.4.0' }),
  },
  rounds: options.rounds,
  secondsOfRun: options.durationMs / 1_000,
  loadBefore,
  skipped: missing === undefined ? {} : { 'Java Curator': missing },
  scenarios: await contest(),
  growth: { waiters: await grow(growth.waiters), sessions: await grow(growth.sessions) },
  sticky: await measureSticky(server.connectString, options.durationMs, options.rounds),
  heapBytesPerWaiter: heap(options.isBrief ? 100 : 10_000),
};
await Promise.all(Object.values(peers).map((peer) => peer.close()));
console.log(tables(results));
if (!options.isBrief) write();

/** Round by round and peer by peer, so that a disturbance of the machine hits all peers alike. */
async function contest(): Promise<Results['scenarios']> {
  const runs = new Map<string, Map<PeerName, Run[]>>();
  for (let round = 0; round <= options.rounds; round += 1) {
    for (const scenario of scenarios) {
      for (const [name, peer] of Object.entries(peers) as [PeerName, Peer][]) {
        if (!takesPart(name, scenario)) continue;
        const run = await measure(
          peer,
          scenario,
          round === 0 ? Math.ceil(options.durationMs / 3) : options.durationMs,
          server,
        );
        if (round === 0) continue; // the first round only warms up
        console.log(
          `round ${round}  ${scenario.name.padEnd(12)} ${name.padEnd(8)} ${Math.round(run.cyclesPerSecond)} cycles/s`,
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

async function grow(points: readonly Scenario[]): Promise<Results['growth']['waiters']> {
  const ours = new Ours(server.connectString);
  const runs = new Map<string, Run[]>(points.map(({ name }) => [name, []]));
  for (let round = 0; round < options.rounds; round += 1) {
    for (const point of points) runs.get(point.name)?.push(await measure(ours, point, options.durationMs, server));
  }
  await ours.close();
  return [...runs].map(([name, all]) => ({ name, ours: summary(all) }));
}

function heap(waiters: number): number {
  const child = spawnSync(
    process.execPath,
    ['--expose-gc', '--import=tsx', here('heap.ts'), server.connectString, String(waiters)],
    { encoding: 'utf8' },
  );
  if (child.status !== 0) throw new Error(`bench/heap.ts failed: ${child.stderr}`);
  return Number(child.stdout);
}

async function version(of: ZooKeeperServer): Promise<string> {
  return /version: ([\d.]+)/i.exec(await of.command('srvr'))?.[1] ?? 'unknown';
}

function write(): void {
  mkdirSync(here('results'), { recursive: true });
  mkdirSync(here('../docs/plots'), { recursive: true });
  writeFileSync(here(`results/${results.date.slice(0, 10)}.json`), `${JSON.stringify(results, null, 2)}\n`);
  const names = Object.keys(results.scenarios);
  const of = (peer: PeerName): (number | undefined)[] => names.map((name) => speedOf(results, name, peer));
  const series = [
    { name: 'zookeeper-fair-lock', colour: '#2b6cb0', values: of('ours') },
    { name: 'Java Curator', colour: '#c05621', values: of('curator') },
    { name: 'raw requests', colour: '#718096', values: of('raw') },
  ];
  writeFileSync(here('../docs/plots/scenarios.svg'), bars('Cycles of acquire and release a second', names, series));
  for (const [kind, points] of Object.entries(results.growth)) {
    const values = points.map(({ ours }) => ours.cyclesPerSecond);
    const title = `Cycles a second of one lock, by ${kind}`;
    writeFileSync(
      here(`../docs/plots/${kind}.svg`),
      lines(
        title,
        points.map(({ name }) => name),
        [{ name: 'zookeeper-fair-lock', colour: '#2b6cb0', values }],
      ),
    );
  }
  const page = here('../docs/performance.md');
  const [before = '', , after = ''] = readFileSync(page, 'utf8').split(/<!-- (?:results|end of results) -->/);
  writeFileSync(page, `${before}<!-- results -->\n\n${tables(results)}\n\n<!-- end of results -->${after}`);
  execFileSync('git', ['--no-pager', 'diff', '--stat', '--', page], { stdio: 'inherit' });
}
