import { root } from './bootstrap.mjs';
import { run } from './run.mjs';

const fastSuites = ['unit', 'properties', 'harness', 'demo', 'chaos', 'integration'].map(
  (name) => `test/${name}/**/*.test.ts`,
);

/** Runs the fast suites, or the test files in `args`, with the given Node. Resolves with mocha's exit code. */
export function runMocha(node, args) {
  const files = args.some((argument) => argument.endsWith('.ts')) ? [] : fastSuites;
  return run(node, ['node_modules/mocha/bin/mocha.js', '--reporter', 'scripts/reporter.mjs', ...files, ...args], {
    cwd: root,
  });
}
