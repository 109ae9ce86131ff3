import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.replaceAll('\\', '/')}`),
];

describe('the documentation', () => {
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8');

    it(`${page} names only programs, tests and sources that exist`, () => {
      const named = [...text.matchAll(/`((?:examples|test|src\/\w[\w-]*)\/[\w./-]+\.ts)`/g)].map(
        ([, path = '']) => path,
      );
      expect(named.filter((path) => !existsSync(join(root, path)))).to.deep.equal([]);
    });
  }

  it('docs/comparison.md has a source for each mark, and a mark for each source', () => {
    const [claims = '', sources = ''] = readFileSync(join(root, 'docs/comparison.md'), 'utf8').split('## Sources');
    const marks = new Set([...claims.matchAll(/\[([A-Z]\d+)\]/g)].map(([, mark = '']) => mark));
    const listed = new Set([...sources.matchAll(/(?:\| |; )([A-Z]\d+) +[|`a-z[]/g)].map(([, mark = '']) => mark));
    expect([...marks].sort()).to.deep.equal([...listed].sort());
  });
});
