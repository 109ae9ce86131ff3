import type { Hold } from '../../src/index.ts';
import type { CaseRun } from './case-run.ts';
import type { Scenario } from './scenario.ts';

/** A scenario of a client that is ready. `play` prepares the rest, and returns the part to which the faults happen. */
export function scene(
  name: string,
  others: Omit<Scenario, 'name' | 'begin'>,
  play: (run: CaseRun) => Play | Promise<Play>,
): Scenario {
  return {
    name,
    ...others,
    begin: async (run) => {
      await ready(run);
      return play(run);
    },
  };
}

type Play = () => Promise<void>;

/** Connects, and creates the parents of the path. Then no request is in flight. */
export async function ready(run: CaseRun, options: Parameters<CaseRun['connect']>[0] = {}): Promise<void> {
  await run.connect(options);
  await run.release(await run.held(run.subject));
}

export async function acquireAndRelease(run: CaseRun, acquiring: Promise<Hold | undefined>): Promise<void> {
  const hold = await acquiring;
  await run.watched(hold);
  await run.release(hold);
}

/** The client under test holds, and the bystander waits behind it. */
export async function heldBeforeWaiter(
  run: CaseRun,
): Promise<{ readonly hold: Hold; readonly next: Promise<Hold | undefined> }> {
  const hold = await run.held(run.subject);
  const next = run.acquire(run.bystander);
  await run.wait('a waiter', () => run.queue().length === 2);
  return { hold, next };
}

/** The play of a hand-over: the client under test releases, and then the bystander. */
export async function handOver(run: CaseRun): Promise<() => Promise<void>> {
  await ready(run);
  const { hold, next } = await heldBeforeWaiter(run);
  return async () => {
    await run.release(hold);
    await run.release(await next);
  };
}

/** The bystander holds, and the client under test waits behind it. */
export async function waitingBehindHolder(
  run: CaseRun,
): Promise<{ readonly gate: Hold; readonly acquiring: Promise<Hold | undefined> }> {
  const gate = await run.held(run.bystander);
  const acquiring = run.acquire(run.subject);
  await run.untilWaiting(acquiring, [gate.path]);
  return { gate, acquiring };
}

/** Waits until the znodes of abandoned acquires are deleted in the background. */
export async function deleted(run: CaseRun): Promise<void> {
  await run.wait('its own znodes are gone', () => run.queue().every(({ isSubjects }) => !isSubjects));
}

/** Waits until the bystander is in the queue, or its acquire has settled. */
export async function queued(run: CaseRun, acquiring: Promise<Hold | undefined>): Promise<void> {
  let isSettled = false;
  void acquiring.then(() => (isSettled = true));
  await run.wait('a waiter', () => isSettled || run.queue().some(({ isSubjects }) => !isSubjects));
}
