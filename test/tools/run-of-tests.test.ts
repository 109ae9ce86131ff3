import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { until } from '../../lab/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a run of several test files', function () {
  this.timeout(180_000);
  let folder: string;

  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'run-of-tests-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('shows what a file printed only if a test of it fails, repeats the failures, and adds up', () => {
    const files = [
      fileOf('passes', "it('passes', () => console.log('provoked'));"),
      fileOf(
        'fails',
        "it('fails', () => { console.error('trouble'); throw new Error('no', { cause: new Error('deep') }); });",
      ),
    ];
    const { status, stdout, totals } = run(...files);
    expect(status).to.equal(1);
    expect(stdout).to.include('trouble').and.to.not.include('provoked');
    expect(stdout).to.match(/\nFAILED: \S+fails\.test\.ts: the file fails\nError: no\n(.*\n)*caused by Error: deep\n/);
    expect(stdout).to.match(/\n1 passed, 1 failed, 0 skipped in \d+ s\n$/);
    expect(totals).to.include({ passed: 1, failed: 1, skipped: 0 });
  });

  it('fails if a test ends the process, whatever its exit code', () => {
    const files = [
      fileOf(
        'ends',
        "it('passes', () => undefined); it('ends', () => { process.once('exit', () => console.log('last words')); process.exit(0); });",
      ),
      fileOf('follows', "it('passes', () => undefined);"),
    ];
    const { status, stdout, totals } = run(...files);
    expect(status).to.equal(1);
    expect(stdout).to.include('last words').and.to.include('FAILED: a test ended the process');
    expect(totals).to.include({ passed: 1, failed: 1, skipped: 0 });
  });

  it('of a folder: runs its tests, also with a slash at its end, and no others if it has none', () => {
    expect(run('test/unit/bench/').stdout).to.include('of unit').and.not.include('of behaviour');
    for (const [none, ...before] of [[folder], ['test/unit/benc'], ['test/unit/benc', '--verbose']] as const) {
      const { status, stderr } = spawnSync(process.execPath, ['scripts/test.mjs', ...before, none], {
        cwd: root,
        encoding: 'utf8',
      });
      expect(status).to.equal(2);
      expect(stderr).to.equal(`Expected a folder with tests, got ${none}\n`);
    }
  });

  it('ends at SIGTERM when its caller has cleaned up, and so does the process of the tests', async () => {
    const [started, cleaned] = [join(folder, 'pid'), join(folder, 'cleaned')];
    const test = fileOf(
      'endless',
      `it('waits', async () => {
        (await import('node:fs')).writeFileSync(${JSON.stringify(started)}, String(process.pid));
        await new Promise(() => undefined);
      });`,
    );
    const program = `
      import { writeFileSync } from 'node:fs';
      import { runMocha } from './scripts/mocha.mjs';
      try { process.exitCode = await runMocha(process.execPath, [${JSON.stringify(test)}]); }
      finally { writeFileSync(${JSON.stringify(cleaned)}, ''); }`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: root, stdio: 'ignore' });
    const exited = once(child, 'exit');
    const pidOfTests = (): number => (existsSync(started) ? Number(readFileSync(started, 'utf8')) : 0);
    try {
      await until('the test runs', () => pidOfTests() > 0, 60_000);
      child.kill('SIGTERM');
      expect(await exited).to.deep.equal([143, null]);
      expect(existsSync(cleaned)).to.equal(true);
      await until('the tests have ended', () => !isAlive(pidOfTests()));
    } finally {
      child.kill('SIGKILL');
      if (isAlive(pidOfTests())) process.kill(pidOfTests(), 'SIGKILL');
    }
  });

  it('on a server: refuses a comparison with one that the embedded server does not imitate', () => {
    const args = ['scripts/versions.mjs', '--only', '3.9.5,3.9.0', 'test/contract/embedded/compare.test.ts'];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    expect(status).to.equal(2);
    expect(stderr).to.match(
      /^test\/contract\/embedded\/compare\.test\.ts compares .+\(--only [\d.,]+\), got 3\.9\.0\n$/,
    );
  });

  it('on a server: refuses a version that is none, or is missing', () => {
    for (const [args, got] of [
      [['--only', 'banana'], 'banana'],
      [['--only'], ''],
    ] as const) {
      const { status, stderr } = spawnSync(process.execPath, ['scripts/versions.mjs', ...args], {
        cwd: root,
        encoding: 'utf8',
      });
      expect(status).to.equal(1);
      expect(stderr).to.match(new RegExp(`Expected ZOOKEEPER_VERSION to be a version like \\S+, got ${got}$`, 'm'));
    }
  });

  function fileOf(name: string, body: string): string {
    const file = join(folder, `${name}.test.ts`);
    writeFileSync(file, `describe('the file', () => { ${body} });`);
    return file;
  }

  function run(...files: string[]) {
    const totals = join(folder, 'totals');
    const { status, stdout } = spawnSync(process.execPath, ['scripts/test.mjs', ...files], {
      cwd: root,
      env: { ...process.env, TEST_TOTALS: totals },
      encoding: 'utf8',
    });
    return { status, stdout, totals: JSON.parse(readFileSync(totals, 'utf8')) as Record<string, number> };
  }
});

function isAlive(pid: number): boolean {
  if (pid === 0) return false;
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
