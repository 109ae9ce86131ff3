import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
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
  const child = spawn(process.execPath, ['node_modules/mocha/bin/mocha.js', ...args], {
    cwd: folder,
    env: { ...process.env, MUTANT_RESULTS: results, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  groups.add(child.pid);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child.pid);
  }, limitMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // A child of the tests may keep the pipes open: after the tests have ended, it is killed.
    child.once('exit', () => killGroup(child.pid));
    child.once('close', (code) => {
      clearTimeout(timer);
      groups.delete(child.pid);
      bundled.remove();
      resolve({ ...readResults(results), code, isLate, output });
    });
  });
}

/** Returns a value for mocha's --grep: tests whose full title contains one of these texts. */
export function anyOf(texts) {
  return `/${texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')}/`;
}

function readResults(file) {
  const lines = existsSync(file)
    ? readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    : [];
  return { passed: lines.filter((line) => 'passed' in line), failed: lines.filter((line) => 'failed' in line) };
}

function killGroup(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // the process has ended
  }
}
