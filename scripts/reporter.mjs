import { Buffer } from 'node:buffer';
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import Mocha from 'mocha';
import { root } from './bootstrap.mjs';

const { EVENT_RUN_END, EVENT_SUITE_BEGIN, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } =
  Mocha.Runner.constants;

/**
 * Appends the result of each test file to TEST_RESULTS, as a JSON line. With TEST_REPORT=spec it also prints mocha's usual
 * report. Otherwise it prints nothing, and takes what the tests print into the result of their file: a reader sees that
 * only if a test of the file fails, because tests provoke many warnings.
 */
export default class Reporter {
  #result = emptyResult();

  constructor(runner, options) {
    // Mocha sets the exit code when all tests have ended. A process that ends earlier, because a teardown never
    // settles, has not passed.
    process.exitCode = 1;
    const isSpec = process.env.TEST_REPORT === 'spec';
    if (isSpec) new Spec(runner, options);
    const release = isSpec ? () => undefined : captureOutput((text) => (this.#result.output += text));
    runner.on(EVENT_SUITE_BEGIN, ({ file }) => this.#enter(file));
    runner.on(EVENT_TEST_PASS, () => (this.#result.passed += 1));
    runner.on(EVENT_TEST_PENDING, (test) => {
      // lab/skip-without.ts has set it.
      const { lack } = test.parent.ctx;
      if (lack === undefined) return this.#fail(test, 'It was skipped without a reason');
      this.#result.skipped += 1;
      if (!this.#result.lacks.includes(lack)) this.#result.lacks.push(lack);
    });
    runner.on(EVENT_TEST_FAIL, (test, error) => {
      this.#enter(test.file ?? test.parent?.file);
      this.#fail(test, tellError(error));
    });
    const end = (isComplete) => {
      process.off('exit', end);
      release();
      this.#write();
      append({ ...emptyResult(), isComplete: isComplete === true });
    };
    // A test may end the process.
    process.once('exit', end);
    runner.once(EVENT_RUN_END, () => end(true));
  }

  #enter(path) {
    const file = path === undefined ? '' : relative(root, path).replaceAll('\\', '/');
    if (file === '' || file === this.#result.file) return;
    this.#write();
    this.#result = emptyResult(file);
  }

  #fail(test, why) {
    this.#result.failed += 1;
    this.#result.problems.push(`${this.#result.file}: ${test.fullTitle()}\n${why}`);
  }

  #write() {
    const { passed, failed, skipped, output } = this.#result;
    if (passed + failed + skipped > 0 || output !== '') append(this.#result);
  }
}

/** The failures and the totals are told by the process that has started this one. */
class Spec extends Mocha.reporters.Spec {
  epilogue() {}
}

function emptyResult(file = '') {
  return { file, passed: 0, failed: 0, skipped: 0, problems: [], lacks: [], output: '' };
}

function append(result) {
  appendFileSync(process.env.TEST_RESULTS, `${JSON.stringify(result)}\n`);
}

/** Returns a function that ends it. */
function captureOutput(onText) {
  const streams = [process.stdout, process.stderr];
  const writes = streams.map((stream) => stream.write);
  for (const stream of streams) {
    stream.write = (chunk, ...rest) => {
      onText(Buffer.from(chunk).toString());
      const done = rest.find((each) => typeof each === 'function');
      if (done) process.nextTick(done);
      return true;
    };
  }
  return () => streams.forEach((stream, at) => (stream.write = writes[at]));
}

/** The stack of the error and of its causes, and how what was expected differs. */
function tellError(error) {
  const { actual, expected, showDiff = true, cause } = error;
  const difference =
    showDiff && expected !== undefined ? Mocha.reporters.Base.generateDiff(textOf(actual), textOf(expected)) : '';
  const because = cause instanceof Error ? `\ncaused by ${tellError(cause)}` : '';
  return `${error.stack ?? error.message}${difference}${because}`;
}

function textOf(value) {
  return typeof value === 'string' ? value : Mocha.utils.stringify(value);
}
