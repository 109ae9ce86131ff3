// Called by scripts/spec.mjs with a folder and the name of a trace: runs the simulation, and writes what TLC checks.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { relayMs } from '../src/zookeeper/session/session-clock.ts';
import { ClockRecorder, clockModel, type Model } from './clock-recorder.ts';
import { drawPlan } from './draw-plan.ts';
import type { Plan } from './plan.ts';
import { clockTraces, queuePlans } from './trace-names.ts';
import { queueModel, QueueRecorder } from './queue-recorder.ts';
import { Simulation } from './simulation.ts';

process.removeAllListeners('warning');
const [folder = '.', name = ''] = process.argv.slice(2);

const model = await modelOf(name);
writeFileSync(join(folder, `${model.of}Data.tla`), model.data);
writeFileSync(join(folder, 'checked.cfg'), model.config);

function modelOf(name: string): Promise<Model> {
  const seed = clockTraces.get(name);
  if (seed !== undefined) return clockOf(seed);
  const plan = queuePlans.get(name);
  if (plan === undefined) throw new RangeError(`Expected the name of a trace, got ${JSON.stringify(name)}`);
  return queueOf(plan);
}

async function clockOf(seed: number): Promise<Model> {
  const plan = drawPlan(seed, { steps: 40 });
  using recorder = new ClockRecorder();
  await new Simulation(plan).run();
  const { sessionTimeoutMs: timeoutMs, tickTimeMs, knowsTick } = plan;
  return clockModel(recorder.sessions(), { timeoutMs, relayMs: relayMs(timeoutMs, knowsTick ? tickTimeMs : Infinity) });
}

async function queueOf(plan: Plan): Promise<Model> {
  const simulation = new Simulation(plan);
  const recorder = new QueueRecorder(simulation.world, '/locks/a');
  await simulation.run();
  return queueModel(plan, recorder.states);
}
