import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { sharedZooKeeper } from '../../harness/hooks.ts';

const root = new URL('../../', import.meta.url);

describe('the README', () => {
  it('contains a first example that runs unchanged, except for the address', async () => {
    const { connectString } = await sharedZooKeeper();
    const readme = readFileSync(new URL('README.md', root), 'utf8');
    const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
    expect(example).to.contain("from 'zookeeper-fair-lock'").and.to.contain("'127.0.0.1:2181'");
    const folder = mkdtempSync(new URL('node_modules/.readme-', root).pathname);
    try {
      const file = join(folder, 'example.mts');
      writeFileSync(
        file,
        example
          .replace("'zookeeper-fair-lock'", JSON.stringify(new URL('src/index.ts', root).pathname))
          .replace('127.0.0.1:2181', connectString),
      );
      const { stdout } = await promisify(execFile)(process.execPath, ['--import=tsx', file], {
        cwd: root.pathname,
        timeout: 15_000,
      });
      expect(stdout).to.equal('shipped 1 parcels\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names every error code', () => {
    const readme = readFileSync(new URL('README.md', root), 'utf8');
    const codes = new Set(readFileSync(new URL('src/support/lock-error.ts', root), 'utf8').match(/'ERR_LOCK_\w+'/g));
    const missing = [...codes].map((code) => code.slice(1, -1)).filter((code) => !readme.includes(`\`${code}\``));
    expect(missing).to.deep.equal([]);
  });
});
