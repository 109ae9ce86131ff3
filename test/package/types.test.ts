import { readFileSync } from 'node:fs';
import { Consumer } from './support/consumer.ts';
import { tarball } from './support/tarball.ts';

const typeTests = readFileSync(new URL('types/api.ts', import.meta.url), 'utf8').replace(
  "'../../../src/index.ts'",
  "'zookeeper-fair-lock'",
);

const others = ['guards', 'testing', 'opentelemetry', 'kerberos'].map((name) => `@zookeeper-fair-lock/${name}`);

/** Imports all types of the packages, and gives the lock the login that the package for Kerberos makes. */
const everything = `
export * as lock from 'zookeeper-fair-lock';
export * as guards from '@zookeeper-fair-lock/guards/sqlite';
export * as testing from '@zookeeper-fair-lock/testing';
export * as opentelemetry from '@zookeeper-fair-lock/opentelemetry';
import { kerberos } from '@zookeeper-fair-lock/kerberos';
import type { LockClientOptions } from 'zookeeper-fair-lock';
export const options: LockClientOptions = { sasl: await kerberos({ principal: 'orders' }) };
`;

const compilers = {
  'module: nodenext': { module: 'nodenext' },
  'module: esnext, moduleResolution: bundler': { module: 'esnext', moduleResolution: 'bundler' },
};

describe('the types of the packages', function () {
  this.timeout(60_000);
  let consumer: Consumer;

  before(async function () {
    this.timeout(300_000); // an installation
    consumer = await Consumer.install('typescript@5.4.5', '@opentelemetry/api@1.9.0', ...others.map(tarball));
    for (const file of ['api.ts', 'api.mts', 'api.cts']) consumer.write(file, typeTests);
    consumer.write('everything.mts', everything);
  });

  after(() => consumer[Symbol.dispose]());

  for (const [name, options] of Object.entries(compilers))
    it(`are the types that applications rely on, and compile completely, with ${name}`, async () => {
      await consumer.compile(['api.mts'], { ...options, noEmit: true });
    });

  it('can be used from CommonJS', async () => {
    await consumer.compile(['api.cts'], { module: 'nodenext', noEmit: true });
  });

  it('declare their dependencies for a compiler that loads no types by itself, as TypeScript 6 does by default', async () => {
    await consumer.compile(['api.mts'], { target: undefined, lib: undefined, types: undefined, noEmit: true });
  });

  for (const [name, file, options] of [
    ['of CommonJS with module: nodenext', 'api.cts', { module: 'nodenext' }],
    ['with module: commonjs, moduleResolution: node', 'api.ts', { module: 'commonjs', moduleResolution: 'node' }],
  ] as const)
    it(`compile with TypeScript 5.4 in a file ${name}`, async () => {
      await consumer.compile([file], { ...options, noEmit: true }, consumer.pathOf('node_modules/typescript/bin/tsc'));
    });

  it('need no DOM, and compile with it', async () => {
    await consumer.compile(['api.mts'], { module: 'nodenext', lib: ['es2022', 'dom'], noEmit: true });
  });

  it('need no more of the language than ES2020, as the types of Node.js 20 do', async () => {
    await consumer.compile(['everything.mts'], { module: 'nodenext', target: 'es2020', lib: ['es2020'], noEmit: true });
  });

  // The types of each supported line of Node, and the newest; by day the oldest and the newest line. Ranges, because a
  // registry names a version as its latest some minutes before all of its copies have it. The last tests, because they
  // replace the types of Node.
  for (const version of process.env['PACKAGE_NIGHT'] ? ['20', '22', '24', '*'] : ['20', '26'])
    it(`compile completely with @types/node@${version}`, async function () {
      this.timeout(300_000); // an installation
      await consumer.add(`@types/node@${version}`);
      await consumer.compile(['everything.mts'], { module: 'nodenext', noEmit: true });
    });
});
