import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The files that a module loads, including itself. */
function loadedBy(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return seen;
  seen.add(entry);
  for (const [, specifier = ''] of readFileSync(join(root, entry), 'utf8').matchAll(/from '(\.{1,2}\/[^']+)\.js'/g))
    loadedBy(normalize(join(dirname(entry), `${specifier}.ts`)), seen);
  return seen;
}

describe('the embedded ZooKeeper', () => {
  it('is not loaded by the library', () => {
    const files = [...loadedBy('src/index.ts')];
    expect(files.length).to.be.greaterThan(80);
    expect(files.filter((file) => file.startsWith('packages'))).to.deep.equal([]);
  });

  it('loads only the support folder of the library', () => {
    const files = [...loadedBy('packages/testing/src/index.ts')];
    expect(files.length).to.be.greaterThan(30);
    const others = files.filter((file) => !file.startsWith('packages/testing/src/'));
    expect(new Set(others.map((file) => dirname(file)))).to.deep.equal(new Set(['src/support']));
  });
});
