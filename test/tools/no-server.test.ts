import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The time that a busy machine may need for a run of tests. */
const limitMs = 180_000;

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a machine on which no ZooKeeper server can be started', function () {
  this.timeout(2 * limitMs);
  let emptyPath: string;

  before(() => (emptyPath = mkdtempSync(join(tmpdir(), 'empty-path-'))));
  after(() => rmSync(emptyPath, { recursive: true }));

  it('runs the tests on virtual time', () => {
    const { status, stdout, stderr } = runScript('scripts/test.mjs', [
      'test/unit/wire.test.ts',
      'test/behaviour/hold.test.ts',
    ]);
    expect(status, `${stdout}${stderr}`).to.equal(0);
    expect(stdout).to.match(/\n\d{2,} passed, 0 failed, 0 skipped in \d+ s\n$/);
  });

  it('says what a test of a real server needs', () => {
    const { status, stdout, stderr } = runScript('scripts/test.mjs', ['test/contract/words.test.ts']);
    expect(status).to.equal(1);
    expect(`${stdout}${stderr}`)
      .to.contain('No ZooKeeper server: ZOOKEEPER_CONNECT is not set')
      .and.contain('export ZOOKEEPER_CONNECT=');
  });

  /** Without commands there is no java, and no apt-get to install it, for any user. */
  function runScript(script: string, args: readonly string[]) {
    const env = { PATH: emptyPath, TMPDIR: tmpdir(), DOCKER_HOST: 'unix:///nowhere/docker.sock' };
    return spawnSync(process.execPath, [script, ...args], {
      cwd: root,
      env,
      encoding: 'utf8',
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
  }
});
