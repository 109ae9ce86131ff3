// npm run simulate [-- --seeds 1..1000 | --minutes 3] [--steps 100 --members 3 --stop-at-first --out folder]
import { drawPlan } from './draw-plan.ts';
import { readOptions, type SimulationOptions } from './options.ts';
import type { Plan } from './plan.ts';
import { report } from './report.ts';
import { Simulation, type Outcome } from './simulation.ts';

// The library warns where an application's listener throws, or forgets a hold. The checks tell more.
process.on('warning', () => undefined);
Error.stackTraceLimit = 2;

const options = readOptions(process.argv.slice(2));
const failed = await runSeeds(options);
process.exitCode = failed === 0 ? 0 : 1;

async function runSeeds({ from, to, minutes = Infinity, ...options }: SimulationOptions): Promise<number> {
  const sum = {
    events: 0,
    messages: 0,
    faults: 0,
    grants: 0,
    terms: 0,
    writes: 0,
    deletionsTold: 0,
    deletionsExcused: 0,
    virtualMs: 0,
  };
  const startedAt = performance.now();
  let [seeds, failed] = [0, 0];
  // Before the first seed runs, because a run that hangs or crashes prints nothing else.
  console.log(`seeds from ${from} on, each of ${options.steps} calls and faults, with ${options.members} servers`);
  for (let seed = from; seed <= to && performance.now() - startedAt < minutes * 60_000; seed += 1) {
    const plan = drawPlan(seed, options);
    const outcome = await new Simulation(plan).run();
    seeds += 1;
    for (const figure of Object.keys(sum) as (keyof typeof sum)[]) sum[figure] += outcome[figure];
    if (outcome.violations.length === 0) continue;
    failed += 1;
    await tell(plan, outcome, options);
    if (options.stopsAtFirst) break;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(
    `${seeds} seeds from ${from} on, each of ${options.steps} calls and faults: ${whole(sum.faults)} faults, ${whole(sum.grants)} grants (${whole(sum.terms)} terms of leaders), ${whole(sum.writes)} guarded writes, ${whole(sum.messages)} messages, ${whole(sum.events)} events, ${whole(sum.virtualMs / 3_600_000)} virtual hours in ${seconds.toFixed(0)} s (${whole(sum.events / seconds)} events a second)`,
  );
  const share = ((100 * sum.deletionsExcused) / Math.max(1, sum.deletionsTold)).toFixed(1);
  console.log(`${whole(sum.deletionsTold)} deletions were told to clients of a queue, ${share} % of them excused`);
  console.log(`${failed} seeds with a violation`);
  return failed;
}

async function tell(
  plan: Plan,
  outcome: Outcome,
  { stopsAtFirst, out }: Pick<SimulationOptions, 'stopsAtFirst' | 'out'>,
): Promise<void> {
  const [first] = outcome.violations;
  if (stopsAtFirst) console.log(`seed ${plan.seed}: ${first?.check ?? ''}: ${first?.text ?? ''}`);
  else console.log(await report(plan, outcome, out));
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}
