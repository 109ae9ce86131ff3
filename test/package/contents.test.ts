import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { run } from './support/command.ts';
import { tarball } from './support/tarball.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names = ['zookeeper-fair-lock', 'zklock', ...['testing', 'opentelemetry', 'kerberos', 'guards'].map(scoped)];

describe('the packages', function () {
  this.timeout(60_000);

  it('are all that the repository has', () => {
    const folders = readdirSync(join(root, 'packages')).filter((name) =>
      existsSync(join(root, 'packages', name, 'package.json')),
    );
    expect(folders.map((folder) => manifestOf(`packages/${folder}`).name)).to.have.members(names.slice(1));
  });

  it('are small: the lock has less than 200 KB, the others together less than 320 KB', () => {
    const [lock = Infinity, ...others] = names.map((name) => statSync(tarball(name)).size);
    expect(lock).to.be.below(200_000);
    expect(others.reduce((sum, size) => sum + size)).to.be.below(320_000);
  });

  it('contain what is built, and neither sources, docs nor pictures', async () => {
    const always = ['package/LICENSE', 'package/README.md', 'package/package.json'];
    const library = [...always, 'package/dist/package.json']; // declares CommonJS
    const lock = ['package/dist/zookeeper-fair-lock.d.ts', 'package/dist/zookeeper-fair-lock.js'];
    expect(await filesIn('zookeeper-fair-lock')).to.have.members([...library, ...lock]);
    // The marks of the simulation are taken out.
    expect(readFileSync(join(root, 'src/client/ghost.ts'), 'utf8')).to.include("reached('");
    for (const bundle of ['dist/zookeeper-fair-lock.js', 'packages/zklock/dist/zklock.cjs'])
      expect(readFileSync(join(root, bundle), 'utf8'), bundle).not.to.include('ghost: dialled again');
    for (const name of ['testing', 'opentelemetry', 'kerberos'].map(scoped)) {
      const files = await filesIn(name);
      expect(files, name).to.include.members([...library, 'package/dist/index.js', 'package/dist/index.d.ts']);
      const left = files.filter((file) => !library.includes(file) && file !== 'package/dist/index.js');
      expect(left.filter((file) => !/^package\/dist\/(?:[\w-]+\/)?[\w-]+\.d\.ts$/.test(file))).to.deep.equal([]);
    }
    const guards = await filesIn(scoped('guards'));
    for (const store of ['postgres', 'mysql', 'sqlite', 'redis'])
      expect(guards).to.include.members([...library, `package/dist/${store}.js`, `package/dist/${store}.d.ts`]);
    const built = /^package\/dist\/(?:(?:postgres|mysql|sqlite|redis)\/)?[\w-]+(?:\.d\.ts|\.js)$/;
    expect(guards.filter((file) => !built.test(file))).to.have.members(library);
    const page = readdirSync(join(root, 'packages/zklock/src/console/page')).filter((file) => !file.endsWith('ts'));
    const bundles = ['zklock-run.cjs', 'zklock.1', 'zklock.LICENSES', 'zklock.cjs'];
    expect(await filesIn('zklock')).to.have.members([
      ...always,
      'package/bin/zklock.cjs',
      ...bundles.map((file) => `package/dist/${file}`),
      ...page.map((file) => `package/dist/console/page/${file}`),
    ]);
  });

  it('have one version, and the lock in exactly this version beside them', () => {
    const { version } = manifestOf('.');
    for (const folder of readdirSync(join(root, 'packages'))) {
      const manifest = manifestOf(`packages/${folder}`);
      expect(manifest.version, folder).to.equal(version);
      expect(manifest.peerDependencies?.['zookeeper-fair-lock'] ?? version, folder).to.equal(version);
    }
  });

  it('declare nothing that the sources mark @internal', () => {
    expect(readFileSync(join(root, 'src/client/lock-client.ts'), 'utf8')).to.include('@internal');
    const declarations = ['.', ...readdirSync(join(root, 'packages')).map((name) => `packages/${name}`)]
      .flatMap((folder) =>
        readdirSync(join(root, folder, 'dist'), { recursive: true, encoding: 'utf8' }).map((file) =>
          join(root, folder, 'dist', file),
        ),
      )
      .filter((file) => file.endsWith('.d.ts'));
    expect(declarations).not.to.have.length(0);
    expect(declarations.filter((file) => readFileSync(file, 'utf8').includes('@internal'))).to.deep.equal([]);
  });

  it('depend on node-zookeeper-client in exactly the version whose internals the lock uses, and on nothing else', () => {
    const { dependencies, peerDependencies, optionalDependencies } = manifestOf('.');
    expect({ dependencies, peerDependencies, optionalDependencies }).to.deep.equal({
      dependencies: { 'node-zookeeper-client': '1.1.3' },
      peerDependencies: undefined,
      optionalDependencies: undefined,
    });
    for (const folder of readdirSync(join(root, 'packages')))
      expect(manifestOf(`packages/${folder}`), folder).not.to.have.any.keys('dependencies', 'optionalDependencies');
  });
});

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: object;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: object;
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest;
}

async function filesIn(name: string): Promise<string[]> {
  const listing = await run('tar', ['-tzf', tarball(name)], root);
  return listing.trim().split('\n');
}

function scoped(name: string): string {
  return `@zookeeper-fair-lock/${name}`;
}
