import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * Mocha's usual report. With TEST_TOTALS it also appends the totals and the failures to that file, as one JSON line per
 * run. An AdviceError ends the run, because every later test would repeat it, and the report then ends with its message
 * alone.
 */
export default class Reporter extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    // Mocha sets the exit code when all tests have ended. A process that ends earlier, because a teardown never
    // settles, has not passed.
    process.exitCode = 1;
    runner.on(Mocha.Runner.constants.EVENT_TEST_FAIL, (test, error) => {
      if (isAdvice(error)) runner.abort();
    });
    const file = process.env.TEST_TOTALS;
    if (!file) return;
    const problems = [];
    runner.on(Mocha.Runner.constants.EVENT_TEST_FAIL, (test, error) =>
      problems.push(`${test.fullTitle()}\n${error.stack ?? error.message}`),
    );
    runner.once(Mocha.Runner.constants.EVENT_RUN_END, () => {
      const { passes, failures, pending } = runner.stats;
      appendFileSync(
        file,
        `${JSON.stringify({ suite: `mocha on Node ${process.version}`, passed: passes, failed: failures, skipped: pending, problems })}\n`,
      );
    });
  }

  epilogue() {
    const stop = this.failures.findIndex(({ err }) => isAdvice(err));
    if (stop < 0) return super.epilogue();
    const { consoleLog, list } = Mocha.reporters.Base;
    consoleLog('\n  %d passing', this.stats.passes);
    list(this.failures.slice(0, stop));
    consoleLog('\n%s', this.failures[stop].err.message);
  }
}

function isAdvice(error) {
  return error?.name === 'AdviceError';
}
