import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a machine on which no ZooKeeper server can be started', () => {
  let emptyPath: string;

  before(() => (emptyPath = mkdtempSync(join(tmpdir(), 'empty-path-'))));
  after(() => rmSync(emptyPath, { recursive: true }));

  it('runs the tests that need none, and stops at the first that needs one, with one message and a command', () => {
    const files = [
      'test/unit/wire.test.ts',
      'test/integration/hold.test.ts',
      'test/integration/session-loss.test.ts',
      'test/integration/mutex.test.ts',
    ];
    const { status, stdout, stderr } = runScript('scripts/test.mjs', files);
    expect(status).to.equal(1);
    expect(stdout)
      .to.match(/read what was written/)
      .and.to.match(/\n {2}[1-9]\d* passing\n/);
    expect(`${stdout}${stderr}`.match(/No ZooKeeper server can be had/g)).to.have.length(1);
    expect(stdout).to.match(/\n\n {2}export ZOOKEEPER_CONNECT=127\.0\.0\.1:2181\n\n$/);
    expect(stdout, 'a stack').not.to.match(/^ +at /m);
  });

  /** Without commands there is no java, and no apt-get to install it, for any user. */
  function runScript(script: string, args: readonly string[]) {
    const env = { PATH: emptyPath, TMPDIR: tmpdir(), DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    return spawnSync(process.execPath, [script, ...args], {
      cwd: root,
      env,
      encoding: 'utf8',
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
  }
});
