import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { withoutFiles } from '../../../packages/zklock/src/cli/run/inherited-files.ts';

const program = fileURLToPath(new URL('support/lists-files.ts', import.meta.url));
const job = new URL('../../../packages/zklock/src/cli/run/job.ts', import.meta.url).href;
const itself = fileURLToPath(import.meta.url);

describe('a file that the caller of zklock has left open', () => {
  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  /** The open files of a command and of its watchdog, of a process with these inherited files and this limit. */
  function listed(numbers: readonly number[], limit?: number): [command: string, watchdog: string] {
    const file = openSync(itself, 'r');
    try {
      const stdio: ('ignore' | 'pipe' | number)[] = ['ignore', 'pipe', 'pipe'];
      for (const number of numbers) {
        while (stdio.length < number) stdio.push('ignore');
        stdio.push(file);
      }
      const set = limit === undefined ? '' : `ulimit -n ${limit}; `;
      const words = ['-c', `${set}exec "$@"`, 'sh', process.execPath, '--import=tsx', program];
      const env = { ...process.env, LISTS_WITHOUT: itself };
      const { stdout, stderr } = spawnSync('/bin/sh', words, { stdio, encoding: 'utf8', env });
      expect(stderr).to.equal('');
      const [command = '', watchdog = ''] = stdout.split('\n\n');
      return [command, watchdog];
    } finally {
      closeSync(file);
    }
  }

  it('does not reach the command and the watchdog, whatever its number is', () => {
    const [command, watchdog] = listed([5, 9, 10, 40, 200]);
    for (const list of [command, watchdog]) expect(list).to.contain(' 0 -> ').and.not.to.contain(itself);
    expect(command).to.not.match(/ (?:5|9|10|40|200) -> /);
  });

  it('does not reach them if its number is at, or above, the limit of open files', () => {
    for (const list of listed([5, 297, 298, 299, 310], 300))
      expect(list).to.contain(' 0 -> ').and.not.to.contain(itself);
  });

  it('is the null device where the shell cannot close it', () => {
    const stdio = withoutFiles(['ignore', 'pipe', 'inherit'], [5, 12]);
    const { stdout } = spawnSync('ls', ['-l', '/proc/self/fd'], { stdio, encoding: 'utf8' });
    for (const number of [5, 12]) expect(stdout).to.include(` ${number} -> /dev/null`);
  });

  it('is closed by a shell that reads no file of the user, also if its input is a socket', () => {
    const home = mkdtempSync(join(tmpdir(), 'zklock-home-'));
    const file = openSync(itself, 'r');
    try {
      writeFileSync(join(home, '.bashrc'), 'exit 9\n');
      const script = `import('${job}').then(async ({ Job }) => {
        const job = new Job(['cat'], {});
        job.start();
        process.exitCode = await job.exitCode;
      })`;
      const words = ['--import=tsx', '-e', script];
      const env = { PATH: process.env['PATH'], HOME: home };
      // A pipe of Node.js is a socket. Node.js keeps the first files to itself, up to a gap.
      const gap = Array<'ignore'>(37).fill('ignore');
      const { status, stdout } = spawnSync(process.execPath, words, {
        stdio: ['pipe', 'pipe', 'inherit', ...gap, file],
        input: 'said',
        encoding: 'utf8',
        env,
      });
      expect([status, stdout]).to.deep.equal([0, 'said']);
    } finally {
      closeSync(file);
      rmSync(home, { recursive: true });
    }
  });

  it('reaches the command that names it, as `<(…)` of a shell does', () => {
    const file = openSync(itself, 'r');
    try {
      const stdio: ('ignore' | 'pipe' | number)[] = [
        'ignore',
        'pipe',
        'pipe',
        ...Array<'ignore'>(60).fill('ignore'),
        file,
      ];
      const script = `import('${job}').then(({ Job }) => new Job(['cat', '/dev/fd/63'], {}).start())`;
      const { stdout } = spawnSync(process.execPath, ['--import=tsx', '-e', script], { stdio, encoding: 'utf8' });
      expect(stdout).to.equal(readFileSync(itself, 'utf8'));
    } finally {
      closeSync(file);
    }
  });
});
