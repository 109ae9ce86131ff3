import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { testPath } from '../../../lab/test-path.ts';

describe('AsyncLocalStorage', () => {
  before(() => sharedZooKeeper());

  it('is created once, with the first lock context, and never in a process without contexts', async () => {
    const { connectString } = await sharedZooKeeper();
    const script = [
      '--import=tsx',
      `--import=${new URL('child/count-storages.ts', import.meta.url).href}`,
      fileURLToPath(new URL('child/use-locks.ts', import.meta.url)),
    ];
    // A child that hangs must not outlive the test.
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...script, connectString, testPath('async-local-storage')],
      { timeout: 50_000 },
    );
    expect(JSON.parse(stdout)).to.deep.equal({
      connected: 0,
      'without a context': 0,
      'after a withLock': 1,
      'after more contexts': 1,
    });
  });
});
