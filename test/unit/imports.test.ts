import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const src = fileURLToPath(new URL('../../src/', import.meta.url));

/** The files of src, and the files that each imports, types included. */
function imports(): Map<string, string[]> {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(
    files.map((file) => {
      const specifiers = readFileSync(join(src, file), 'utf8').matchAll(/from '(\.{1,2}\/[^']+)\.js'/g);
      return [file, [...specifiers].map(([, path = '']) => `${normalize(join(dirname(file), path))}.ts`)];
    }),
  );
}

/** The first circle in the graph, as a chain of files. */
function circle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const follow = (file: string, chain: readonly string[]): string[] | undefined => {
    if (chain.includes(file)) return [...chain.slice(chain.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of graph.get(file) ?? []) {
      const found = follow(next, [...chain, file]);
      if (found) return found;
    }
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const found = follow(file, []);
    if (found) return found;
  }
  return undefined;
}

describe('the imports of src', () => {
  it('form no circle, types included', () => {
    expect(circle(imports())).to.equal(undefined);
  });

  it('are all read by this test: each names an existing file', () => {
    const graph = imports();
    const missing = [...graph].flatMap(([file, targets]) =>
      targets.filter((target) => !graph.has(target)).map((target) => `${file} imports ${target}`),
    );
    expect(missing).to.deep.equal([]);
    expect(graph.size).to.be.greaterThan(80);
    expect(
      circle(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b']],
        ]),
      ),
    ).to.deep.equal(['b', 'c', 'b']);
  });
});
