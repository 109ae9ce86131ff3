import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fold } from '../lab/judge/folded-history.ts';
import { picture } from '../chaos/picture.ts';
import type { Plan } from './plan.ts';
import { shrink } from './shrink.ts';
import { Simulation, type Outcome } from './simulation.ts';

/** Replays a plan that has failed, shrinks it, draws it, and returns what there is to say. */
export async function report(name: string, plan: Plan, outcome: Outcome, out: string): Promise<string> {
  const [first] = outcome.violations;
  if (first === undefined) return '';
  const again = await new Simulation(plan).run();
  const isSame = JSON.stringify(again.violations) === JSON.stringify(outcome.violations);
  const short = await shrink(plan, first.check);
  const last = await new Simulation(short).run();
  mkdirSync(out, { recursive: true });
  const file = join(out, `seed-${name}.html`);
  const { history, violations } = last;
  writeFileSync(file, picture(fold(history), violations));
  const begin = history[0]?.t ?? 0;
  const { steps, ...rest } = short;
  return [
    `seed ${name}: ${outcome.violations.map(({ check, text }) => `${check}: ${text}`).join('\n  ')}`,
    `  replayed: ${isSame ? 'the same' : `ANOTHER OUTCOME: ${JSON.stringify(again.violations)}`}`,
    `  shrunk from ${plan.steps.length} to ${steps.length} steps of ${JSON.stringify(rest)}:`,
    ...steps.map(({ at, ...step }) => `    ${at.toFixed(1).padStart(9)} ${JSON.stringify(step)}`),
    ...violations.map(({ check, t, text }) => `    ${(t - begin).toFixed(1).padStart(9)} ${check}: ${text}`),
    `  drawn: ${file}`,
  ].join('\n');
}
