import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { testPath } from '../../../lab/test-path.ts';

const program = fileURLToPath(new URL('child/acquire-twice-and-close.ts', import.meta.url));

describe('a wait for a hold of the same process', () => {
  it('keeps no process alive once the client is closed', async () => {
    const { connectString } = await sharedZooKeeper();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import=tsx', program, connectString, testPath('outside-wait')],
      { timeout: 20_000 },
    );
    expect(Number(stdout), 'milliseconds from the end of close to the end of the process').to.be.below(500);
  });
});
