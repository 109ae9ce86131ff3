// npx tsx chaos/check.ts <history.jsonl>: checks a history, and draws it next to the file. Exit code 1: a violation; 2:
// no history.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { figuresOf, type Figures } from './checks/figures.ts';
import type { History } from '../lab/judge/folded-history.ts';
import { leftovers } from './checks/leftovers.ts';
import { losses } from './checks/losses.ts';
import { order } from './checks/order.ts';
import { progress } from './checks/progress.ts';
import { register } from './checks/register.ts';
import { report } from './checks/report.ts';
import { runWithoutGrants } from './checks/run-without-grants.ts';
import { settled } from './checks/settled.ts';
import { judge } from '../lab/judge/judge.ts';
import type { Check, Violation } from '../lab/judge/violation.ts';
import { warnings } from './checks/warnings.ts';
import { picture } from './picture.ts';
import { readHistory } from './read-history.ts';

/** The checks that need more than the facts of the locks: the register, the
 * faults, the processes, and what is left at the end. */
const checks: readonly Check[] = [
  judge,
  order,
  losses,
  register,
  settled,
  warnings,
  leftovers,
  progress,
  runWithoutGrants,
];

export interface Verdict {
  /** Ordered by time. */
  readonly violations: readonly Violation[];
  readonly figures: Figures;
}

export function check(history: History): Verdict {
  return {
    violations: checks.flatMap((each) => each(history)).sort((a, b) => a.t - b.t),
    figures: figuresOf(history),
  };
}

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = main(process.argv.slice(2));

function main([file, ...others]: readonly string[]): number {
  if (file === undefined || others.length > 0) {
    console.error('Usage: npx tsx chaos/check.ts <history.jsonl>');
    return 2;
  }
  const history = tryToRead(file);
  if (history === undefined) return 2;
  const { violations, figures } = check(history);
  console.log(report(history, violations, figures));
  const drawing = `${file.replace(/\.jsonl$/, '')}.html`;
  writeFileSync(drawing, picture(history, violations));
  console.log(`\nThe picture: ${drawing}`);
  return violations.length === 0 ? 0 : 1;
}

function tryToRead(file: string): History | undefined {
  try {
    return readHistory(file);
  } catch (error) {
    console.error(`${file}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}
