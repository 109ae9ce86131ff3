import type { Hook, Runnable, Runner, Suite } from 'mocha';
import { AdviceError } from './docker/advice.ts';

/**
 * Skips the tests that need what the machine lacks: those that throw an AdviceError, or whose hooks do. The reporter
 * counts them, and prints `lack`.
 */
export function skipWithoutServer(runner: Runner, lack: string): void {
  runner.forbidPending = false;
  runner.emit('lack', lack);
  for (const suite of suitesOf(runner.suite)) skipIn(suite);
}

function suitesOf(suite: Suite): Suite[] {
  return [suite, ...suite.suites.flatMap(suitesOf)];
}

function skipIn(suite: Suite): void {
  for (const runnable of [...hooksOf(suite, 'before'), ...suite.tests])
    change(runnable, (error, skip) => {
      if (!(error instanceof AdviceError)) throw error;
      skip();
    });
  // A hook cannot stop what no hook has started.
  for (const hook of hooksOf(suite, 'after'))
    change(hook, (error) => {
      if (!hasSkipped(suite)) throw error;
    });
}

function hasSkipped(suite: Suite): boolean {
  return suite.tests.some((test) => test.pending) || suite.suites.some(hasSkipped);
}

/** Calls `onError` in place of a failure. Leaves functions with a callback alone. */
function change(runnable: Runnable, onError: (error: unknown, skip: () => void) => void): void {
  const { fn } = runnable as unknown as { fn?: (this: Mocha.Context) => unknown };
  if (fn === undefined || fn.length > 0) return;
  Object.assign(runnable, {
    async fn(this: Mocha.Context) {
      try {
        await fn.call(this);
      } catch (error) {
        onError(error, () => this.skip());
      }
    },
  });
}

/** Mocha has no public access to the hooks of a suite. */
function hooksOf(suite: Suite, when: 'before' | 'after'): Hook[] {
  const lists = suite as unknown as Record<`_${typeof when}${'All' | 'Each'}`, Hook[]>;
  return [...lists[`_${when}All`], ...lists[`_${when}Each`]];
}
