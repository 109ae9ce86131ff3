import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

describe('a simulated run', () => {
  it('asks no clock, timer or random number of its process, also not in node-zookeeper-client', async function () {
    this.timeout(60_000);
    const child = fileURLToPath(new URL('child/own-time.ts', import.meta.url));
    // A child that hangs must not outlive the test.
    const { stdout } = await promisify(execFile)(process.execPath, ['--import=tsx', child], { timeout: 55_000 });
    const { called, faults, grants } = JSON.parse(stdout) as { called: string[]; faults: number; grants: number };
    expect(called).to.deep.equal([]);
    expect(faults).to.be.greaterThan(50);
    expect(grants).to.be.greaterThan(50);
  });
});
