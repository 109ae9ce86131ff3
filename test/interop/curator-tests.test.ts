import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { curatorVersion, ensureCuratorTests, javaOptions } from '../../lab/programs/interop/curator.ts';
import { skipWithout } from '../../lab/skip-without.ts';

const here = (file: string): string =>
  fileURLToPath(new URL(`../../lab/programs/interop/curator-tests/${file}`, import.meta.url));
const recipes = 'org.apache.curator.framework.recipes';

/** The tests that Curator itself disables, by class. */
const disabled: Readonly<Record<string, readonly string[]>> = {
  // A semaphore of one lease is not re-entrant.
  'locks.TestInterProcessSemaphoreMutex': ['testReentrant()', 'testReentrant2Threads()', 'testReentrantSingleLock()'],
};

/**
 * Debian has no jar of them. Left out: TestLeaderLatchCluster, TestLeaderSelectorCluster and
 * TestInterProcessSemaphoreCluster, which need several servers.
 */
const describeUnlessDebian = curatorVersion === 'debian' ? () => undefined : describe;

describeUnlessDebian('Java Curator’s own tests pass on the embedded ZooKeeper:', function () {
  // Some of Curator's tests wait for half a minute and more.
  this.timeout(900_000);
  let classPath: string;
  let folder = '';

  before(async function () {
    let jars: readonly string[] = [];
    await skipWithout(this, async () => (jars = await ensureCuratorTests()));
    folder = mkdtempSync(join(tmpdir(), 'curator-tests-'));
    execFileSync('javac', ['-cp', jars.join(delimiter), '-d', folder, here('TestingServer.java')]);
    classPath = [folder, ...jars].join(delimiter);
  });
  after(() => {
    if (folder !== '') rmSync(folder, { recursive: true });
  });

  for (const name of [
    'locks.TestInterProcessMutex',
    'locks.TestInterProcessReadWriteLock',
    'locks.TestInterProcessSemaphore',
    'locks.TestInterProcessSemaphoreMutex',
    'locks.TestInterProcessMultiMutex',
    'locks.TestLockACLs',
    'locks.TestLockInternals',
    'leader.TestLeaderAcls',
    'leader.TestLeaderLatch',
    'leader.TestLeaderSelector',
    'leader.TestLeaderSelectorEdges',
    'leader.TestLeaderSelectorParticipants',
    'leader.TestLeaderSelectorWithExecutor',
  ])
    it(name, async () => {
      const command = [process.execPath, '--import=tsx', here('embedded-server.ts')].join('\n');
      const launcher = ['org.junit.platform.console.ConsoleLauncher', '--select-class', `${recipes}.${name}`];
      const options = ['--details=tree', '--details-theme=ascii', '--disable-banner', '--disable-ansi-colors'];
      const { stdout } = await promisify(execFile)(
        'java',
        [...javaOptions, `-Dembedded=${command}`, '-cp', classPath, ...launcher, ...options],
        { maxBuffer: 2 ** 26, timeout: 880_000 },
      ).catch((error: unknown) => error as { stdout: string });
      // A line is like "|   +-- testReentrant() 12 ms [OK]", with [X] for a failure, [A] if aborted and [S] if skipped. A
      // test may have any name. It stands below its class.
      const results = [...stdout.matchAll(/^\| {3}.*-- (.+?)(?: \d+ ms)? \[(OK|X|A|S)\]/gm)];
      const those = (wanted: string): (string | undefined)[] =>
        results.filter(([, , result]) => result === wanted).map(([, test]) => test);
      expect([...those('X'), ...those('A')], stdout).to.deep.equal([]);
      expect(those('S').sort()).to.deep.equal(disabled[name] ?? []);
      expect(those('OK'), stdout).not.to.have.length(0);
    });
});
