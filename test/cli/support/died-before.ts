import { expect } from 'chai';
import type { InterProcessMutex } from '../../../src/index.ts';

/** The smallest margins of this run, by fault; printed after the last test. */
const margins = new Map<string, number[]>();

/**
 * Waits for the next grant of the lock, and fails unless every process of the command had ended before. The end of the
 * command is looked for all the time, and once more when this process learns of the grant: if a busy machine has held it
 * up, it learns of both at once.
 */
export async function diesBeforeTheNextGrant(
  fault: string,
  command: { readonly isAlive: boolean },
  granted: Promise<unknown>,
): Promise<void> {
  let grantedAt: number | undefined;
  let diedAt: number | undefined;
  const grant = granted.then(() => {
    grantedAt = performance.now();
    if (!command.isAlive) diedAt ??= grantedAt;
  });
  while (diedAt === undefined && grantedAt === undefined) {
    if (!command.isAlive) diedAt = performance.now();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await grant;
  const marginMs = (grantedAt ?? -Infinity) - (diedAt ?? Infinity);
  margins.set(fault, [...(margins.get(fault) ?? []), marginMs]);
  expect(marginMs, 'milliseconds from the death of the command to the next grant').to.be.at.least(0);
}

/** Resolves when `mutex` waits for the lock, with a promise of its grant. The lock may be free already. */
export async function queueBehind(mutex: InterProcessMutex): Promise<{ readonly granted: Promise<unknown> }> {
  const queued = new Promise((resolve) => mutex.on('queued', resolve));
  const granted = mutex.acquire();
  granted.catch(() => undefined); // where the test fails first
  await Promise.race([queued, granted]);
  return { granted };
}

after(() => {
  if (margins.size === 0) return;
  const width = Math.max(...[...margins.keys()].map((fault) => fault.length));
  const rows = [...margins].map(
    ([fault, all]) => `  ${fault.padEnd(width)}  ${all.length}  ${Math.floor(Math.min(...all))} ms`,
  );
  console.log(['\nThe command was dead before the next grant by at least:', ...rows].join('\n'));
});
