import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { Consumer } from './support/consumer.ts';

/** The esbuild of tsx, which runs these tests. */
const { build } = createRequire(createRequire(import.meta.url).resolve('tsx'))('esbuild') as {
  build(options: object): Promise<unknown>;
};

describe('a bundle of an application', function () {
  this.timeout(60_000);
  let consumer: Consumer;

  before(async function () {
    this.timeout(300_000); // an installation
    consumer = await Consumer.install();
  });

  after(() => consumer[Symbol.dispose]());

  it("that uses no other class has LockClient's withLock, which a separate module adds", async () => {
    const entry = consumer.write(
      'alone.mjs',
      "import { LockClient } from 'zookeeper-fair-lock'; console.log(typeof LockClient.prototype.withLock);",
    );
    const outfile = `${consumer.folder}/bundle.mjs`;
    const banner = {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    };
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
      banner,
      logLevel: 'silent',
    });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile]);
    expect(stdout.trim()).to.equal('function');
  });
});
