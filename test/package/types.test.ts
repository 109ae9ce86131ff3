import { readFileSync } from 'node:fs';
import { Consumer } from './support/consumer.ts';

const typeTests = readFileSync(new URL('types/api.ts', import.meta.url), 'utf8').replace(
  "'../../../src/index.ts'",
  "'zookeeper-fair-lock'",
);

/** Imports all types of the package. */
const everything = ['', '/testing', '/opentelemetry']
  .map((entry, index) => `export * as part${index} from 'zookeeper-fair-lock${entry}';`)
  .join('\n');

const compilers = {
  'module: nodenext': { module: 'nodenext' },
  'module: esnext, moduleResolution: bundler': { module: 'esnext', moduleResolution: 'bundler' },
};

describe('the types of the package', function () {
  this.timeout(60_000);
  let consumer: Consumer;

  before(async function () {
    this.timeout(300_000); // an installation
    consumer = await Consumer.install('typescript@5.4.5', '@opentelemetry/api@1.9.0');
    for (const file of ['api.ts', 'api.mts', 'api.cts']) consumer.write(file, typeTests);
  });

  after(() => consumer[Symbol.dispose]());

  for (const [name, options] of Object.entries(compilers)) {
    it(`are the types that applications rely on, and compile completely, with ${name}`, async () => {
      await consumer.compile(['api.mts'], { ...options, noEmit: true });
    });
  }

  it('can be used from CommonJS', async () => {
    await consumer.compile(['api.cts'], { module: 'nodenext', noEmit: true });
  });

  it('declare their dependencies for a compiler that loads no types by itself, as TypeScript 6 does by default', async () => {
    await consumer.compile(['api.mts'], { target: undefined, lib: undefined, types: undefined, noEmit: true });
  });

  for (const [name, file, options] of [
    ['of CommonJS with module: nodenext', 'api.cts', { module: 'nodenext' }],
    ['with module: commonjs, moduleResolution: node', 'api.ts', { module: 'commonjs', moduleResolution: 'node' }],
  ] as const) {
    it(`compile with TypeScript 5.4 in a file ${name}`, async () => {
      await consumer.compile([file], { ...options, noEmit: true }, consumer.pathOf('node_modules/typescript/bin/tsc'));
    });
  }

  it('need no DOM, and compile with it', async () => {
    await consumer.compile(['api.mts'], { module: 'nodenext', lib: ['es2022', 'dom'], noEmit: true });
  });

  // The types of each supported line of Node, and the newest. The last tests, because they replace the types of Node.
  for (const version of ['20', '22', '24', 'latest']) {
    it(`compile completely with @types/node@${version}`, async function () {
      this.timeout(300_000); // an installation
      await consumer.add(`@types/node@${version}`);
      consumer.write('everything.mts', everything);
      await consumer.compile(['everything.mts'], { module: 'nodenext', noEmit: true });
    });
  }
});
