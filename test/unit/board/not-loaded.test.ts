import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../../src/', import.meta.url));

/** The files that a file loads, at once or by `import()`, itself included. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const text = readFileSync(join(src, file), 'utf8').replaceAll(/^(?:import|export) type .*$/gm, '');
  for (const [, path = ''] of text.matchAll(/(?:from|import) ?\(?'(\.{1,2}\/[^']+)\.js'/g))
    loadedBy(`${normalize(join(dirname(file), path))}.ts`, loaded);
  return loaded;
}

describe('the package', () => {
  it('loads nothing of the command line, the console and the board', () => {
    const rooms = new Set([...loadedBy('index.ts')].map((file) => file.split('/')[0]));
    expect([...rooms])
      .to.include('mutex')
      .and.to.not.include.members(['cli']);
    for (const room of ['cli', 'console', 'board']) expect([...rooms]).to.not.include(room);
    expect([...loadedBy('cli/observe/serve-console.ts')]).to.include('board/lock-board.ts');
  });
});
