import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** The files that a file loads, at once or by `import()`, itself included. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const text = readFileSync(join(root, file), 'utf8').replaceAll(/^(?:import|export) type .*$/gm, '');
  for (const [, path = ''] of text.matchAll(/(?:from|import) ?\(?'(\.{1,2}\/[^']+)\.js'/g))
    loadedBy(`${normalize(join(dirname(file), path))}.ts`, loaded);
  return loaded;
}

describe('the package of the lock', () => {
  it('loads nothing of the other packages', () => {
    const loaded = [...loadedBy('src/index.ts')];
    expect(loaded).to.include('src/mutex/hold.ts');
    expect(loaded.filter((file) => !file.startsWith('src/'))).to.deep.equal([]);
  });
});

describe('the embedded server', () => {
  it('loads nothing of the client that it is tested with, only what checks options and calls listeners', () => {
    const ofLock = [...loadedBy('packages/testing/src/index.ts')].filter((file) => file.startsWith('src/'));
    expect(ofLock).to.include('src/support/clock.ts');
    expect(ofLock.filter((file) => !file.startsWith('src/support/'))).to.deep.equal([]);
  });
});
