import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { testPath } from '../../../lab/test-path.ts';

const owners = fileURLToPath(new URL('child/weighted-owners.ts', import.meta.url));
const overtakesPerWeight = 2;

interface Grant {
  readonly token: bigint;
  readonly sequence: number;
  readonly weight: number;
}

describe('weights in several processes:', () => {
  let file: string;

  beforeEach(() => (file = join(mkdtempSync(join(tmpdir(), 'fair-lock-')), 'count')));

  afterEach(() => rmSync(join(file, '..'), { recursive: true }));

  it('60 owners of ten weights in 3 processes are all served within the limit of overtakes', async function () {
    this.timeout(120_000);
    const { connectString } = await sharedZooKeeper();
    writeFileSync(file, '0');
    const args = [connectString, testPath('weighted-owners'), file, '20', '10'];
    const children = Array.from({ length: 3 }, () =>
      fork(owners, args, { execArgv: ['--import=tsx'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
    );
    await Promise.all(children.map((child) => once(child, 'message')));
    for (const child of children) child.send('go');
    await Promise.all(children.map((child) => once(child, 'exit')));
    expect(children.map(({ exitCode }) => exitCode)).to.deep.equal([0, 0, 0]);
    expect(Number(readFileSync(file, 'utf8'))).to.equal(600);

    const grants = readFileSync(`${file}.grants`, 'utf8').trim().split('\n').map(grantOf);
    expect(grants).to.have.length(600);
    grants.forEach(({ token, sequence, weight }, index) => {
      const before = grants.slice(0, index);
      expect(before.every((earlier) => earlier.token < token)).to.equal(true);
      // The grants before this one of znodes that were created later, while this owner waited.
      const overtakers = before.filter((earlier) => earlier.sequence > sequence);
      for (const overtaker of overtakers) expect(overtaker.weight).to.be.greaterThan(weight);
      expect(overtakers.length).to.be.at.most(overtakesPerWeight * (10 - weight));
    });
    // At least one owner was overtaken; otherwise the test has tried nothing.
    expect(
      grants.some(({ sequence }, index) => grants.slice(0, index).some((earlier) => earlier.sequence > sequence)),
    ).to.equal(true);
  });
});

function grantOf(line: string): Grant {
  const [token = '', sequence = '', weight = ''] = line.split(' ');
  return { token: BigInt(token), sequence: Number(sequence), weight: Number(weight) };
}
