import { randomUUID } from 'node:crypto';
import { AdviceError } from '../lab/servers/docker/advice.ts';
import type { FoundZooKeeper } from '../lab/servers/find-zookeeper.ts';
import { chooseDemoZooKeeper, furtherTrials, startDemoZooKeeper } from './demo-zookeeper.ts';
import { aborted, interruption } from './interruption.ts';
import { Screen } from './screen.ts';
import { Shift, type Ending } from './shift.ts';
import { isGood, table, type Verdict } from './verdict.ts';
import { within } from './within.ts';

const size = { workers: 4, jobs: 40 };
const exitCodes = { good: 0, bad: 1, interrupted: 130 } as const;
const stopLimitMs = 15_000;
const lastLimitMs = 2_000;

const screen = new Screen(process.stdout);
const interrupt = interruption();

process.exitCode = await main().catch((error: unknown) => {
  console.error(error instanceof AdviceError ? error.message : error);
  return exitCodes.bad;
});
// Nothing should keep this process alive after this. If something does, the demonstration ends all the same.
setTimeout(() => process.exit(), lastLimitMs).unref();

async function main(): Promise<number> {
  const choice = chooseDemoZooKeeper(process.argv.slice(2), process.env);
  const finding = startDemoZooKeeper(choice);
  await Promise.race([finding, aborted(interrupt)]);
  if (interrupt.aborted) {
    screen.print('Interrupted during the search for a ZooKeeper');
    await within(
      stopLimitMs,
      finding.then((found) => found.stop()),
    );
    return exitCodes.interrupted;
  }
  const zooKeeper = await finding;
  try {
    const code = await show(zooKeeper);
    if (code === exitCodes.good && choice !== 'given') screen.print(`\n${furtherTrials(choice)}`);
    return code;
  } finally {
    if ((await within(stopLimitMs, zooKeeper.stop())) === 'late')
      screen.print(`ZooKeeper, ${zooKeeper.how}, did not stop within ${stopLimitMs} ms`);
  }
}

async function show({ connectString, how }: FoundZooKeeper): Promise<number> {
  const lockPath = `/demo-${randomUUID().slice(0, 8)}/jobs`;
  screen.print(`${size.workers} processes, ${size.jobs} jobs, one lock: ${lockPath} on ${connectString} (${how})`);
  const shift = new Shift(size, { connectString, lockPath }, screen);
  void aborted(interrupt).then(() => shift.interrupt());
  const { ending, verdict } = await shift.over();
  if (verdict.jobs > 0) screen.print(`\n${table(verdict)}\n`);
  screen.print(summary(ending, verdict));
  return exitCode(ending, verdict);
}

function summary(ending: Ending, verdict: Verdict): string {
  switch (ending.is) {
    case 'complete':
      return isGood(verdict)
        ? 'Never two holders at once, and first come, first served.'
        : 'The lock did NOT keep its guarantees.';
    case 'interrupted':
      return 'Interrupted. The workers have ended.';
    case 'failed':
      return `FAILED: ${ending.why}`;
  }
}

function exitCode(ending: Ending, verdict: Verdict): number {
  if (ending.is === 'interrupted') return exitCodes.interrupted;
  return ending.is === 'complete' && isGood(verdict) ? exitCodes.good : exitCodes.bad;
}
