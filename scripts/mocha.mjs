import { root } from './bootstrap.mjs';
import { run } from './run.mjs';

const fastSuites = ['unit', 'properties', 'lab', 'demo', 'chaos', 'simulation', 'behaviour'].map(
  (name) => `test/${name}/**/*.test.ts`,
);

/** Runs `suites`, or only the test files in `args` if there are any, with the given Node. Resolves with mocha's exit code. */
export function runMocha(node, args, suites = fastSuites) {
  const files = args.some((argument) => argument.endsWith('.ts')) ? [] : suites;
  return run(node, ['node_modules/mocha/bin/mocha.js', '--reporter', 'scripts/reporter.mjs', ...files, ...args], {
    cwd: root,
  });
}

/** The same for tests of the built package: builds it first. Resolves with the exit code of the build if that fails. */
export async function runMochaOnBuilt(args, suites) {
  const code = await run(process.execPath, ['scripts/build.mjs'], { cwd: root });
  return code === 0 ? runMocha(process.execPath, args, suites) : code;
}
