// npm run simulate [-- --seeds 1..1000 | --minutes 3] [--steps 100 --members 3 --stop-at 1 --out folder]
// --corpus file: first the plans of a corpus, and then the seeds. --steer file: after each seed a crossing of two plans
// that have reached something new. These plans go into the file.
// --all-points: fail if a point that the library marks was not reached, unless `unreached` says why.
import { closeSync, openSync } from 'node:fs';
import { Random } from '../lab/random.ts';
import { Corpus } from './corpus.ts';
import { planOf, textOf, type Lineage } from './lineage.ts';
import { readOptions, type Plans, type SimulationOptions } from './options.ts';
import type { Plan } from './plan.ts';
import { Points } from './points.ts';
import { report } from './report.ts';
import { Simulation, type Outcome } from './simulation.ts';
import { unreached } from './unreached.ts';

// The library warns where an application's listener throws, or forgets a hold. The checks tell more.
process.removeAllListeners('warning');
Error.stackTraceLimit = 2;

const options = readOptions(process.argv.slice(2));
const failed = await runPlans(options);
process.exitCode = failed === 0 ? 0 : 1;

async function runPlans({ plans, needsAllPoints, minutes = Infinity, ...options }: SimulationOptions): Promise<number> {
  const points = new Points();
  const corpus = new Corpus();
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
  const steered = plans.then.are === 'seeds' ? plans.then.steered : undefined;
  // A file that cannot be written is refused now, and not after all runs.
  if (steered !== undefined) closeSync(openSync(steered, 'a'));
  const startedAt = performance.now();
  let [seeds, failed] = [0, 0];
  // Before the first plan runs, because a run that hangs or crashes prints nothing else.
  console.log(`${described(plans)}, each of ${options.steps} calls and faults, with ${options.members} servers`);
  for (const lineage of lineagesOf(plans, corpus)) {
    if (performance.now() - startedAt >= minutes * 60_000) break;
    const plan = planOf(lineage, options);
    const outcome = await new Simulation(plan).run();
    corpus.ran(lineage, points.endRun());
    seeds += 1;
    // So that one run shows how the figure grows.
    if (/^[13]00+$/.test(String(seeds))) console.log(`after ${whole(seeds)} runs: ${reachedBy(points, corpus)}`);
    for (const figure of Object.keys(sum) as (keyof typeof sum)[]) sum[figure] += outcome[figure];
    if (outcome.violations.length === 0) continue;
    failed += 1;
    await tell(textOf(lineage), plan, outcome, options);
    points.endRun();
    if (failed === options.stopsAt) break;
  }
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(
    `${seeds} runs of ${options.steps} calls and faults: ${whole(sum.faults)} faults, ${whole(sum.grants)} grants (${whole(sum.terms)} terms of leaders), ${whole(sum.writes)} guarded writes, ${whole(sum.messages)} messages, ${whole(sum.events)} events, ${whole(sum.virtualMs / 3_600_000)} virtual hours in ${seconds.toFixed(0)} s (${whole(sum.events / seconds)} events a second)`,
  );
  const share = ((100 * sum.deletionsExcused) / Math.max(1, sum.deletionsTold)).toFixed(1);
  console.log(`${whole(sum.deletionsTold)} deletions were told to clients of a queue, ${share} % of them excused`);
  console.log(points.table());
  const { missed } = points;
  console.log(reachedBy(points, corpus));
  if (steered !== undefined) corpus.write(steered);
  const due = needsAllPoints ? missed.filter((point) => !unreached.has(point)) : [];
  for (const point of due) console.log(`NOT REACHED: ${point}`);
  console.log(`${failed} seeds with a violation`);
  return failed + due.length;
}

function reachedBy({ all, missed }: Points, { features, size }: Corpus): string {
  return `${all.length - missed.length} of ${all.length} points reached, ${whole(features)} features by ${whole(size)} plans`;
}

function* lineagesOf({ corpus: file, then }: Plans, corpus: Corpus): Iterable<Lineage> {
  if (file !== undefined) yield* Corpus.read(file);
  if (then.are === 'one') yield then.lineage;
  else
    for (let seed = then.from, random = new Random(seed, 5); seed <= then.to; seed += 1) {
      yield [seed];
      const crossing = then.steered === undefined ? undefined : corpus.crossing(random);
      if (crossing) yield crossing;
    }
}

function described({ corpus, then }: Plans): string {
  const first = corpus === undefined ? '' : `the plans of ${corpus}, then `;
  if (then.are === 'one') return `${first}the plan ${textOf(then.lineage)}`;
  const range = then.to === Infinity ? `from ${then.from} on` : `${then.from} to ${then.to}`;
  return `${first}seeds ${range}${then.steered === undefined ? '' : ', and crossings'}`;
}

async function tell(
  name: string,
  plan: Plan,
  outcome: Outcome,
  { stopsAt, out }: Pick<SimulationOptions, 'stopsAt' | 'out'>,
): Promise<void> {
  const [first] = outcome.violations;
  if (stopsAt !== undefined) console.log(`seed ${name}: ${first?.check ?? ''}: ${first?.text ?? ''}`);
  else console.log(await report(name, plan, outcome, out));
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}
