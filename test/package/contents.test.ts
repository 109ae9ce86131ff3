import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { run } from './support/command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = filesOf('src').filter((file) => !file.endsWith('.d.ts'));

describe('the package', function () {
  this.timeout(60_000);

  it('contains each source file as .js and .d.ts, the page of the console, the command, the manual page, the guide, the examples, the pages about the project, and nothing else', async () => {
    const built = sources.flatMap((file) => builtFrom(`dist/${file}`));
    const project = ['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'package.json'];
    expect(await packedFiles()).to.have.members([
      ...project.filter((file) => existsSync(join(root, file))),
      'dist/package.json', // declares CommonJS
      'bin/zklock.cjs',
      'dist/zklock.1',
      'dist/zklock-run.cjs',
      'dist/zklock.LICENSES',
      'dist/zklock.cjs',
      ...built,
      ...filesOf('docs').map((file) => `docs/${file}`),
      ...filesOf('examples')
        .filter((file) => file !== 'tsconfig.json')
        .map((file) => `examples/${file}`),
    ]);
  });

  it('lists the modules with side effects in the package.json of dist too, because bundlers may read only that one', () => {
    const listedIn = (folder: string): string[] => {
      const file = readFileSync(join(root, folder, 'package.json'), 'utf8');
      const { sideEffects } = JSON.parse(file) as { sideEffects: string[] };
      return sideEffects.map((name) => join(root, folder, name));
    };
    expect(listedIn('dist')).to.deep.equal(listedIn('.'));
    for (const module of listedIn('dist')) expect(existsSync(module), module).to.equal(true);
  });

  it('declares nothing that the sources mark @internal', () => {
    expect(sources.filter((file) => readFileSync(join(root, 'src', file), 'utf8').includes('@internal'))).not.to.be
      .empty;
    const leaking = filesOf('dist').filter(
      (file) => file.endsWith('.d.ts') && readFileSync(join(root, 'dist', file), 'utf8').includes('@internal'),
    );
    expect(leaking).to.deep.equal([]);
  });

  it('depends on node-zookeeper-client in exactly the version whose internals it uses, and on nothing else', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta, optionalDependencies } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    ) as Record<string, unknown>;
    expect({ dependencies, peerDependencies, peerDependenciesMeta, optionalDependencies }).to.deep.equal({
      dependencies: { 'node-zookeeper-client': '1.1.3' },
      peerDependencies: { '@opentelemetry/api': '^1.9.0', kerberos: '^7.0.0' },
      peerDependenciesMeta: { '@opentelemetry/api': { optional: true }, kerberos: { optional: true } },
      optionalDependencies: undefined,
    });
  });
});

/** Without scripts, because prepack's output would precede the JSON, and dist is already built. */
async function packedFiles(): Promise<string[]> {
  const listing = JSON.parse(await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], root)) as {
    files: { path: string }[];
  }[];
  return listing.flatMap(({ files }) => files.map(({ path }) => path));
}

/** TypeScript is compiled; the other files are those of the console's page. */
function builtFrom(file: string): string[] {
  const [, module = '', kind = ''] = /^(.+)\.([cm]?)ts$/.exec(file) ?? [];
  return module === '' ? [file] : [`${module}.d.${kind}ts`, `${module}.${kind}js`];
}

function filesOf(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(root, folder), join(entry.parentPath, entry.name)));
  return files.map((file) => file.replaceAll('\\', '/'));
}
