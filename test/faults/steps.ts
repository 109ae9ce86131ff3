import type { Hold } from '../../src/index.ts';
import type { Stage } from './stage.ts';

/** Connected, the parents of the path there, and nothing under way. */
export async function ready(stage: Stage, options: { readonly knowsTick?: boolean } = {}): Promise<void> {
  await stage.connect(options);
  await stage.release(await stage.held(stage.subject));
}

export async function acquireAndRelease(stage: Stage, acquiring: Promise<Hold | undefined>): Promise<void> {
  const hold = await acquiring;
  await stage.watched(hold);
  await stage.release(hold);
}

/** The client under test holds, and somebody waits behind it. */
export async function heldBeforeWaiter(stage: Stage): Promise<{ readonly hold: Hold; readonly next: Promise<Hold | undefined> }> {
  const hold = await stage.held(stage.subject);
  const next = stage.acquire(stage.bystander);
  await stage.wait('a waiter', async () => (await stage.queue()).length === 2);
  return { hold, next };
}

/** Somebody else holds, and the client under test waits behind. */
export async function waitingBehindHolder(stage: Stage): Promise<{ readonly gate: Hold; readonly acquiring: Promise<Hold | undefined> }> {
  const gate = await stage.held(stage.bystander);
  const acquiring = stage.acquire(stage.subject);
  await stage.parked(acquiring, [gate.path]);
  return { gate, acquiring };
}

/** What was given up is deleted in the background. */
export async function deleted(stage: Stage): Promise<void> {
  await stage.wait('its own znodes are gone', async () => (await stage.queue()).every(({ isSubjects }) => !isSubjects));
}

/** Somebody else stands in the queue, or has got what it asked for. */
export async function queued(stage: Stage, acquiring: Promise<Hold | undefined>): Promise<void> {
  let isSettled = false;
  void acquiring.then(() => (isSettled = true));
  await stage.wait('a waiter', async () => isSettled || (await stage.queue()).some(({ isSubjects }) => !isSubjects));
}
