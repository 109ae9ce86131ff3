// npm run suite -- bench-zklock [--rounds 40]: the time that `zklock run PATH -- true` takes beside Node's own start, and
// beside a program that only opens and closes a session. All run in turn, on one server. The CPU time includes that of
// all processes that a program starts. On a busy machine it says more than the time of day.
import { spawnSync } from 'node:child_process';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startRealServer } from '../lab/servers/zookeeper-server.ts';

const goalMs = 60;
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '40' } } });
const rounds = Number(values.rounds);
if (!(rounds >= 1)) throw new RangeError(`Expected --rounds to be a number ≥ 1, got ${JSON.stringify(values.rounds)}`);

const loadBefore = loadavg()[0] ?? NaN;
await using server = await startRealServer({ tickTimeMs: 2_000, jvm: 'usual' });
const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const programs = {
  "Node's start": ['-e', ''],
  'a bare session': [at('bare-session.cjs'), server.connectString],
  'zklock run': [
    at('../packages/zklock/bin/zklock.cjs'),
    'run',
    '--servers',
    server.connectString,
    '/bench/zklock',
    '--',
    'true',
  ],
};
const names = Object.keys(programs) as (keyof typeof programs)[];
const runs = new Map(names.map((name) => [name, [] as Run[]]));

interface Run {
  readonly ms: number;
  readonly cpuMs: number;
}

// The first rounds warm the server up, and create the znode of the lock.
for (let round = -5; round < rounds; round += 1) {
  for (const name of round % 2 === 0 ? names : names.toReversed()) {
    const measured = run(programs[name]);
    if (round >= 0) runs.get(name)?.push(measured);
  }
}

for (const name of names) console.log(`${name}: ${line(runsOf(name))}`);
for (const other of ["Node's start", 'a bare session'] as const) console.log(`above ${other}: ${line(above(other))}`);
const aboveMs = median(above('a bare session').map(({ ms }) => ms));
console.log(
  `goal: at most ${goalMs} ms above a bare session: ${aboveMs <= goalMs ? 'met' : 'NOT met'}; ` +
    `${rounds} rounds on Node ${process.version}, load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? NaN).toFixed(1)} after`,
);

function run(args: readonly string[]): Run {
  const script = '"$@"; status=$?; times >&3; exit $status';
  const startedAt = performance.now();
  const { status, output } = spawnSync('bash', ['-c', script, 'bench', process.execPath, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
  });
  const ms = performance.now() - startedAt;
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}`);
  // The second line: user and system time of the children, such as `0m0.041s 0m0.012s`.
  const times = [...(output[3] ?? '').matchAll(/(\d+)m([\d.]+)s/g)].slice(2);
  return {
    ms,
    cpuMs: times.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60_000 + Number(seconds) * 1_000, 0),
  };
}

function runsOf(name: keyof typeof programs): readonly Run[] {
  return runs.get(name) ?? [];
}

/** Round by round, so that a disturbance of the machine hits both. */
function above(other: keyof typeof programs): readonly Run[] {
  const others = runsOf(other);
  return runsOf('zklock run').map(({ ms, cpuMs }, index) => {
    const { ms: otherMs = NaN, cpuMs: otherCpuMs = NaN } = others[index] ?? {};
    return { ms: ms - otherMs, cpuMs: cpuMs - otherCpuMs };
  });
}

function line(measured: readonly Run[]): string {
  const sorted = measured.map(({ ms }) => ms).sort((a, b) => a - b);
  const [first = NaN, last = NaN] = [sorted[0], sorted.at(-1)];
  const cpuMs = median(measured.map((each) => each.cpuMs));
  return `median ${median(sorted).toFixed(1)} ms, from ${first.toFixed(1)} to ${last.toFixed(1)} ms; CPU ${cpuMs.toFixed(0)} ms`;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
