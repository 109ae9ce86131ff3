import { expect } from 'chai';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { until } from '../../lab/until.ts';

const module = new URL('../../lab/servers/docker/after-this-process.ts', import.meta.url).href;

describe('a command that runs after the end of a process', () => {
  let folder: string;
  let mark: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'after-'));
    mark = join(folder, 'done');
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  for (const signal of ['SIGKILL', 'SIGINT', 'SIGTERM'] as const)
    it(`runs after ${signal}`, async () => {
      const child = spawn(process.execPath, script('setInterval(() => {}, 1_000); console.log("ready");'), {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      expect(existsSync(mark)).to.equal(false);
      child.kill(signal);
      await once(child, 'exit');
      await until('the mark exists', () => existsSync(mark));
    });

  it('does not keep the process alive, and runs after a normal end', async () => {
    await promisify(execFile)(process.execPath, script(''));
    await until('the mark exists', () => existsSync(mark));
  });

  it('does not run once it is cancelled', async () => {
    await promisify(execFile)(process.execPath, script('callOff();'));
    await until(
      'its shell has ended',
      async () => !(await promisify(execFile)('ps', ['-eo', 'args'])).stdout.includes(`touch ${mark}`),
    );
    expect(existsSync(mark)).to.equal(false);
  });

  function script(rest: string): string[] {
    const text = `import { afterThisProcess } from ${JSON.stringify(module)}; const callOff = afterThisProcess('touch', [${JSON.stringify(mark)}]); ${rest}`;
    return ['--import=tsx', '--input-type=module', '-e', text];
  }
});
