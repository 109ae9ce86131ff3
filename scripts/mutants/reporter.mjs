import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';

const { EVENT_TEST_PASS, EVENT_TEST_FAIL } = Mocha.Runner.constants;

/**
 * Prints a JSON line for each test as soon as it has ended, so that a run that is killed has reported its earlier
 * tests. With `--bail`, the first failed test ends the process: the result is known, and the hooks that would close
 * what the test has opened may wait for what the mutation broke.
 */
export default class Reporter {
  constructor(runner, { bail }) {
    const tell = (result) => appendFileSync(process.env.MUTANT_RESULTS, `${JSON.stringify(result)}\n`);
    runner.on(EVENT_TEST_PASS, (test) => tell({ passed: test.fullTitle(), ms: test.duration }));
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      tell({ failed: test.fullTitle(), error: error.stack });
      if (bail) process.exit(1);
    });
  }
}
