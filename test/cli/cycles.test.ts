import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { labOfEachTest } from '../../lab/lab.ts';

const bin = fileURLToPath(new URL('../../packages/zklock/bin/zklock.cjs', import.meta.url));
const shells = 20;
/** `ZKLOCK_CYCLES=1000 npm run suite -- cli test/cli/cycles.test.ts` is the whole run. */
const cycles = Number(process.env['ZKLOCK_CYCLES'] ?? 100);

describe('twenty shells on one path', function () {
  this.timeout(60_000 + cycles * 1_000);
  const lab = labOfEachTest('zklock-cycles', { client: 'none' });

  it(`count to ${cycles} exactly, and leave nothing behind`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    try {
      const file = join(folder, 'count');
      writeFileSync(file, '0');
      // Not safe without the lock: two shells would read the same number.
      const count = `n=$(cat ${file}); echo $((n + 1)) > ${file}`;
      const loop = `i=0; while [ $i -lt ${cycles / shells} ]; do "$0" "$1" run "$2" -c "$3" || exit; i=$((i + 1)); done`;
      const env = { ...process.env, ZOOKEEPER_CONNECT: lab.connectString };
      const ends = Array.from({ length: shells }, async () => {
        const shell = spawn('/bin/sh', ['-c', loop, process.execPath, bin, lab.path, count], { env, stdio: 'inherit' });
        return ((await once(shell, 'exit')) as [number])[0];
      });
      expect(new Set(await Promise.all(ends))).to.deep.equal(new Set([0]));
      expect(readFileSync(file, 'utf8')).to.equal(`${cycles}\n`);
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
