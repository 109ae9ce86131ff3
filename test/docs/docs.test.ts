import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { EmbeddedZooKeeper } from '../../packages/testing/src/index.ts';
import { blocksOf, pages, root } from './support/blocks.ts';
import { checkJava, checkSyntax } from './support/other-languages.ts';
import { compile, type Program } from './support/programs.ts';

const limitMs = 30_000;
const syntaxOnly = ['js', 'javascript', 'bash', 'sh', 'python'];
/** Languages that pages show and no compiler reads. */
const shown = ['', 'text', 'sql', 'json', 'yaml', 'xml', 'ini', 'properties', 'diff'];

const blocks = pages.flatMap(blocksOf);
const inTypeScript = blocks.filter(({ language }) => language === 'ts' || language === 'typescript');
const inJava = blocks.filter(({ language }) => language === 'java');

describe('the code blocks of the pages', function () {
  this.timeout(60_000);
  let folder: string;
  let programs: Program[];

  before(function () {
    this.timeout(300_000); // one call of the compiler for all blocks
    mkdirSync(join(root, 'coverage'), { recursive: true });
    folder = mkdtempSync(join(root, 'coverage', 'docs-'));
    programs = compile(inTypeScript, folder);
  });

  after(() => rmSync(folder, { recursive: true, force: true }));

  inTypeScript.forEach((block, index) => {
    it(`${block.page}:${block.line} compiles${block.isRun ? ', runs to its end and leaves no session' : ''}`, async () => {
      const program = programs[index];
      expect(program?.problems).to.deep.equal([]);
      if (program && block.isRun) await runs(program);
    });
  });

  for (const block of blocks.filter(({ language }) => syntaxOnly.includes(language)))
    it(`${block.page}:${block.line} is ${block.language}`, () => checkSyntax(block, folder));

  it('those in Java compile with Curator', async function () {
    this.timeout(300_000); // Curator may have to be installed
    if (inJava.length === 0) return;
    await checkJava(inJava, folder);
  });

  it('are in languages that are checked, or show text', () => {
    const checked = ['ts', 'typescript', 'java', ...syntaxOnly, ...shown];
    const unknown = blocks.filter(({ language }) => !checked.includes(language));
    expect(unknown.map(({ page, line, language }) => `${page}:${line}: ${language}`)).to.deep.equal([]);
  });

  it('are there: every page of the guide has one that is checked', () => {
    const having = new Set(blocks.filter(({ language }) => !shown.includes(language)).map(({ page }) => page));
    expect(pages.filter((page) => !having.has(page) && !withoutCode.includes(page))).to.deep.equal([]);
  });
});

/** Pages that list and measure. */
const withoutCode = ['comparison', 'evidence', 'guarantees', 'performance', 'proof', 'tools', 'versioning'].map(
  (name) => `docs/${name}.md`,
);

/** In a process of its own, on a server of its own, where files that it writes disturb nothing. */
async function runs({ block, file }: Program): Promise<void> {
  await using zk = await EmbeddedZooKeeper.start();
  const child = spawn(process.execPath, ['--enable-source-maps', file], {
    cwd: dirname(file),
    env: { ...process.env, ZOOKEEPER_CONNECT: zk.connectString },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  let printed = '';
  let complaints = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  await once(child, 'close');
  const output = `${printed}${complaints}`;
  expect(child.signalCode, `it did not end within ${limitMs} ms: ${output}`).to.equal(null);
  expect(child.exitCode, output).to.equal(0);
  expect(complaints, 'a process warning').not.to.match(/^\(node:\d+\)/m);
  if (block.prints !== undefined) expect(printed.trim()).to.equal(block.prints);
  expect([...zk.sessionIds], 'sessions that the block has left open, with their znodes').to.deep.equal([]);
}
