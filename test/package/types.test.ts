import { readFileSync } from 'node:fs';
import { Consumer } from './support/consumer.ts';

const typeTests = readFileSync(new URL('types/api.ts', import.meta.url), 'utf8').replace("'../../../src/index.ts'", "'zookeeper-fair-lock'");
const compilers = {
  'module: nodenext': { module: 'nodenext' },
  'module: esnext, moduleResolution: bundler': { module: 'esnext', moduleResolution: 'bundler' },
};

describe('the types of the package', function () {
  this.timeout(60_000);
  let consumer: Consumer;

  before(async () => {
    consumer = await Consumer.install();
    consumer.write('api.mts', typeTests);
    consumer.write('api.cts', typeTests);
  });

  after(() => consumer[Symbol.dispose]());

  for (const [name, options] of Object.entries(compilers)) {
    it(`are what applications rely on, and compile whole, with ${name}`, async () => {
      await consumer.compile(['api.mts'], { ...options, noEmit: true });
    });
  }

  it('can be had from CommonJS', async () => {
    await consumer.compile(['api.cts'], { module: 'nodenext', noEmit: true });
  });

  it('need no DOM, and live with it', async () => {
    await consumer.compile(['api.mts'], { module: 'nodenext', lib: ['es2022', 'dom'], noEmit: true });
  });
});
