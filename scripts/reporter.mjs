import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';

/**
 * Mocha's usual report. It ends with the number of tests that were skipped because the machine lacks something, and
 * with what it lacks. With TEST_TOTALS it also appends the totals and the failures to that file, as one JSON line per
 * run.
 */
export default class Reporter extends Mocha.reporters.Spec {
  #lack = '';

  constructor(runner, options) {
    super(runner, options);
    // Mocha sets the exit code when all tests have ended. A process that ends earlier, because a teardown never
    // settles, has not passed.
    process.exitCode = 1;
    runner.once('lack', (lack) => (this.#lack = lack));
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
    super.epilogue();
    const { pending } = this.stats;
    const { consoleLog } = Mocha.reporters.Base;
    if (this.#lack && pending > 0) consoleLog('  %d skipped: %s', pending, this.#lack);
  }
}
