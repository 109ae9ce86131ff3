import { appendFileSync } from 'node:fs';
import Mocha from 'mocha';

const { EVENT_TEST_PASS, EVENT_TEST_FAIL } = Mocha.Runner.constants;

/**
 * Prints a JSON line for each test as soon as it has ended, so that a run that is killed has reported its earlier
 * tests.
 */
export default class Reporter {
  constructor(runner) {
    const tell = (result) => appendFileSync(process.env.MUTANT_RESULTS, `${JSON.stringify(result)}\n`);
    runner.on(EVENT_TEST_PASS, (test) => tell({ passed: test.fullTitle() }));
    runner.on(EVENT_TEST_FAIL, (test, error) => tell({ failed: test.fullTitle(), error: error.stack }));
  }
}
