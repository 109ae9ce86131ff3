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
      await promisify(execFile)(
        process.execPath,
        ['--import', new URL('node_modules/tsx/dist/esm/index.mjs', root).href, file],
        {
          cwd: folder,
          timeout: 15_000,
        },
      );
      expect(readFileSync(join(folder, 'report.txt'), 'utf8')).to.match(/^token \d+\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
