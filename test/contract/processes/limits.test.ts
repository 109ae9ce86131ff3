import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';

const megabyte = 1024 * 1024;
const owners = fileURLToPath(new URL('child/owners.ts', import.meta.url));

describe('over a long time', () => {
  const lab = labOfEachTest('limits', { server: 'own', client: 'none' });

  it('10,000 cycles leave the heap within 5 MB, no watch on the server, and no child', async function () {
    this.timeout(120_000);
    const client = await LockClient.connect(lab.server.connectString);
    const outside = await connectObserver(lab.server.connectString);
    const path = testPath('cycles');
    const mutexes = Array.from({ length: 25 }, (_, index) => new InterProcessMutex(client, `${path}/${index}`));
    const cycles = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 50) {
        await Promise.all(
          [...mutexes, ...mutexes].map(async (mutex) => {
            await (await mutex.acquire()).release();
          }),
        );
      }
    };
    await cycles(1_000);
    const before = settledHeap();
    await cycles(10_000);
    const grown = settledHeap() - before;
    expect(grown, `${grown} bytes`).to.be.lessThan(5 * megabyte);
    await until('no watch is left', async () => (await lab.server.command('wchs')).includes('Total watches:0'));
    for (const mutex of mutexes) expect(await outside.children(mutex.path)).to.deep.equal([]);
    await client.close();
    await outside[Symbol.asyncDispose]();
  });

  it('100 owners in 4 processes, 20 acquires each: none is missing, and grants follow the creation order', async function () {
    this.timeout(120_000);
    const path = testPath('owners');
    const folder = mkdtempSync(join(tmpdir(), 'fair-lock-'));
    const file = join(folder, 'count');
    writeFileSync(file, '0');
    try {
      const children = Array.from({ length: 4 }, () =>
        fork(owners, [lab.server.connectString, path, file, '25', '20'], {
          execArgv: ['--import=tsx'],
          stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        }),
      );
      await Promise.all(children.map((child) => once(child, 'message')));
      for (const child of children) child.send('go');
      await Promise.all(children.map(ended));
      expect(Number(readFileSync(file, 'utf8'))).to.equal(2_000);
      const grants = readFileSync(`${file}.grants`, 'utf8')
        .trim()
        .split('\n')
        .map((line) => line.split(' '));
      expect(grants).to.have.length(2_000);
      expect(isAscending(grants.map(([token = '']) => BigInt(token)))).to.equal(true);
      expect(isAscending(grants.map(([, sequence = '']) => BigInt(sequence)))).to.equal(true);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function settledHeap(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function isAscending(values: readonly bigint[]): boolean {
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).to.equal(0);
}
