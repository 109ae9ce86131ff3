import { existsSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linesOf } from '../mocha.mjs';
import { killGroup, outcomeOf } from '../run.mjs';
import { bundle } from './bundle.mjs';

const reporter = fileURLToPath(new URL('reporter.mjs', import.meta.url));
const groups = new Set();

process.once('exit', () => groups.forEach(killGroup));

/**
 * Runs tests in a process group of its own, which is killed at the limit because a mutant may loop without end.
 * Resolves with the passed and the failed tests, and with the end of the run.
 *
 * @param how.limitOfTestMs the limit of each test and each hook that names none
 */
export async function runTests({ files, grep, bail = false }, { folder, temporary, limitMs, limitOfTestMs }) {
  const results = join(mkdtempSync(join(temporary, 'run-')), 'results');
  const bundled = await bundle(folder, files).catch((error) => error);
  // A mutation may be no TypeScript.
  if (bundled instanceof Error) return { passed: [], failed: [], code: 1, isLate: false, output: bundled.message };
  const args = [
    ...[
      '--no-config',
      ...bundled.setup.flatMap((file) => ['--require', file]),
      '--forbid-only',
      '--forbid-pending',
      '--exit',
    ],
    ...['--timeout', String(limitOfTestMs), '--reporter', reporter],
    ...(bail ? ['--bail'] : []),
    ...(grep ? ['--grep', grep] : []),
    ...bundled.tests,
  ];
  let group;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(group);
  }, limitMs);
  const { code, output } = await outcomeOf(process.execPath, ['node_modules/mocha/bin/mocha.js', ...args], {
    cwd: folder,
    env: { ...process.env, MUTANT_RESULTS: results, TMPDIR: temporary },
    detached: true,
    onStart: (child) => {
      group = child.pid;
      groups.add(group);
      // A child of the tests may keep the pipes open: after the tests have ended, it is killed.
      child.once('exit', () => killGroup(group));
    },
  });
  clearTimeout(timer);
  groups.delete(group);
  bundled.remove();
  return { ...readResults(results), code, isLate, output };
}

/** Returns a value for mocha's --grep: tests whose full title contains one of these texts. */
export function anyOf(texts) {
  return `/${texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')}/`;
}

function readResults(file) {
  const lines = existsSync(file) ? linesOf(file) : [];
  return { passed: lines.filter((line) => 'passed' in line), failed: lines.filter((line) => 'failed' in line) };
}
