import { expect } from 'chai';
import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { testPath } from '../../lab/test-path.ts';
import { run } from './support/command.ts';
import { Consumer } from './support/consumer.ts';
import { prints } from './support/prints.ts';
import { importAndRequire, listen, lockByImport, lockByRequire } from './support/programs.ts';
import { codeUnderTest, testsOfPage, type Timers } from './support/testing-page.ts';
import { tarball } from './support/tarball.ts';
import { toolCommand } from './support/tool-command.ts';

const tools = [
  'jest@30.5.2',
  'mocha@12.0.3',
  'sinon@22.1.0',
  'vitest@4.1.12', // the last one for Node.js 20
  'esbuild@0.28.2',
  'typescript@5.4.5',
  'bun@1.4.5',
  'deno@2.9.6',
];

describe('an application that is built, tested or run by other tools', function () {
  this.timeout(60_000);
  let consumer: Consumer;
  let servers: string;

  before(async function () {
    this.timeout(300_000);
    ({ connectString: servers } = await sharedZooKeeper());
    consumer = await Consumer.install(tarball('@zookeeper-fair-lock/testing'), ...tools);
    // Bun's package needs its install script, which links the program of another package.
    await run(process.execPath, ['install.js'], consumer.pathOf('node_modules/bun'));
    consumer.write('app.mjs', lockByImport);
    consumer.write('app.cjs', lockByRequire);
    consumer.write('both.mjs', importAndRequire);
    consumer.write('listen.mjs', listen);
  });

  after(() => consumer[Symbol.dispose]());

  describe('by Jest', () => {
    const test = `
      test('locks', async () => {
        const client = await LockClient.connect(servers);
        const token = await new InterProcessMutex(client, path).withLock((hold) => hold.fencingToken);
        await client.close();
        expect(typeof token).toBe('bigint');
      });
    `;
    const compare = `
      test('gets one copy by import and require', () => {
        expect(Object.keys(required).filter((name) => imported[name] === undefined || imported[name] !== required[name])).toEqual([]);
      });
    `;

    it("locks in CommonJS tests, Jest's default", async () => {
      consumer.write('jest/package.json', '{}');
      consumer.write(
        'jest/lock.test.js',
        `const { LockClient, InterProcessMutex } = require('zookeeper-fair-lock');${test}`,
      );
      await jest([], 'lock.test.js');
    });

    it("locks in tests that are ES modules, with Jest's flag, and imports and requires one copy", async () => {
      consumer.write('jest/package.json', '{}');
      const both = `
        import { createRequire } from 'node:module';
        import * as imported from 'zookeeper-fair-lock';
        const required = createRequire(import.meta.url)('zookeeper-fair-lock');
        const { LockClient, InterProcessMutex } = imported;
      `;
      consumer.write('jest/lock.test.mjs', `${both}${test}${compare}`);
      await jest(['--experimental-vm-modules'], 'lock.test.mjs');
    });

    /** Fails if a test fails, if there is no test, or if something keeps Jest from ending. */
    async function jest(nodeOptions: readonly string[], file: string): Promise<void> {
      const globals = JSON.stringify({ servers, path: testPath('jest') });
      const args = [
        '--rootDir',
        consumer.pathOf('jest'),
        '--runInBand',
        '--ci',
        '--detectOpenHandles',
        '--globals',
        globals,
        '--runTestsByPath',
        consumer.pathOf(`jest/${file}`),
      ];
      const jest = consumer.pathOf('node_modules/jest/bin/jest.js');
      // Jest prints the open handles on stderr.
      const command = [process.execPath, ...nodeOptions, jest, ...args];
      expect(await run('sh', ['-c', '"$@" 2>&1', 'sh', ...command], consumer.folder)).not.to.contain('open handle');
    }
  });

  describe('whose tests are those of docs/testing.md, with an embedded ZooKeeper and fake timers,', () => {
    const testTimeout = 30_000;

    it('by mocha, with the timers of sinon and of Node.js', () => passes('npx mocha', 'import', 'sinon', 'Node.js'));

    it('by vitest', () => passes('npx vitest', 'import', 'vitest'));

    it('by Jest as ES modules', () => passes('NODE_OPTIONS=--experimental-vm-modules npx jest', 'import', 'jest'));

    it('by Jest in CommonJS', () => passes('npx jest', 'require', 'jest'));

    /** Fails also if something keeps the tool from ending. Gives its tests more time than the 2 s and 5 s of the tools. */
    async function passes(start: string, modules: 'import' | 'require', ...timers: readonly Timers[]): Promise<void> {
      const folder = `page-${start.split(' ').at(-1)}-${modules}`;
      const type = modules === 'import' ? 'module' : 'commonjs';
      consumer.write(`${folder}/package.json`, JSON.stringify({ type, jest: { testTimeout } }));
      consumer.write(`${folder}/.mocharc.json`, JSON.stringify({ timeout: testTimeout }));
      consumer.write(
        `${folder}/vitest.config.mjs`,
        `export default { test: { testTimeout: ${testTimeout}, hookTimeout: ${testTimeout} } };`,
      );
      consumer.write(`${folder}/report-job.js`, codeUnderTest(modules));
      for (const library of timers) consumer.write(`${folder}/test/${library}.test.js`, testsOfPage(library, modules));
      await run('sh', ['-c', toolCommand(start, 'docs/testing.md')], consumer.pathOf(folder));
    }
  });

  describe('by esbuild', () => {
    let elsewhere: string;

    beforeEach(() => (elsewhere = mkdtempSync(join(tmpdir(), 'bundle-'))));
    afterEach(() => rmSync(elsewhere, { recursive: true, force: true }));

    it('to one ES module, as docs/tools.md says, locks where no package is installed', async () => {
      await bundle(toolCommand('npx esbuild'), 'bundle.mjs');
    });

    it('to one CommonJS file locks where no package is installed', async () => {
      await bundle('npx esbuild app.mjs --bundle --platform=node --outfile=bundle.cjs', 'bundle.cjs');
    });

    it('is less than 270 KB when minified: of node-zookeeper-client it has the records alone', async () => {
      const bundled = consumer.pathOf('small.cjs');
      await run(
        'sh',
        ['-c', `npx esbuild app.mjs --bundle --minify --platform=node --outfile=${bundled}`],
        consumer.folder,
      );
      expect(statSync(bundled).size).to.be.below(270_000);
    });

    async function bundle(command: string, file: string): Promise<void> {
      await run('sh', ['-c', command], consumer.folder);
      cpSync(consumer.pathOf(file), join(elsewhere, file));
      await prints('bigint', process.execPath, [file], { folder: elsewhere, servers });
    }
  });

  describe('by TypeScript 5.4', () => {
    it('as CommonJS locks', async () => {
      consumer.write('typed.cts', lockByImport);
      await consumer.compile(['typed.cts'], { module: 'nodenext' }, consumer.pathOf('node_modules/typescript/bin/tsc'));
      await prints('bigint', process.execPath, ['typed.cjs'], { folder: consumer.folder, servers });
    });
  });

  for (const [name, start] of [
    ['Bun', 'bun '],
    ['Deno', 'deno run '],
  ] as const)
    describe(`by ${name}, as docs/tools.md says`, () => {
      it('imports the package and locks', () => runs('app.mjs', 'bigint'));

      it('requires the package and locks', () => runs('app.cjs', 'bigint'));

      it('gets one copy of the package if one process imports and requires it', () =>
        runs('both.mjs', 'isReentrant: true, different: '));

      it('calls listeners that do not own the lock', () => runs('listen.mjs', '[false,false]'));

      async function runs(file: string, line: string): Promise<void> {
        const [command = '', ...args] = toolCommand(start).split(' ');
        await prints(
          line,
          consumer.pathOf(`node_modules/.bin/${command}`),
          args.map((argument) => argument.replace('app.mjs', file)),
          { folder: consumer.folder, servers },
        );
      }
    });
});
