import { spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const program = fileURLToPath(new URL('support/lists-files.ts', import.meta.url));
const job = new URL('../../../src/cli/run/job.ts', import.meta.url).href;
const itself = fileURLToPath(import.meta.url);

describe('a file that the caller of zklock has left open', () => {
  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  it('does not reach the command and the watchdog, whatever its number is', () => {
    const file = openSync(itself, 'r');
    try {
      const stdio: ('ignore' | 'pipe' | number)[] = ['ignore', 'pipe', 'pipe'];
      for (const number of [5, 9, 10, 40, 200]) {
        while (stdio.length < number) stdio.push('ignore');
        stdio.push(file);
      }
      const { stdout, stderr } = spawnSync(process.execPath, ['--import=tsx', program], { stdio, encoding: 'utf8' });
      const [command = '', watchdog = ''] = stdout.split('\n\n');
      expect(stderr).to.equal('');
      for (const list of [command, watchdog]) expect(list).to.contain(' 0 -> ').and.not.to.contain(itself);
      expect(command).to.not.match(/ (?:5|9|10|40|200) -> /);
    } finally {
      closeSync(file);
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
