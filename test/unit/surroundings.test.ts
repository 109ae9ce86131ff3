import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
// Imported by its address, because the scripts have no types.
const { surroundings } = (await import(new URL('../../scripts/lint/surroundings.mjs', import.meta.url).href)) as {
  surroundings: { overrides: [{ rules: object }]; modulesFor: (folder: string) => object[] };
};

interface Patterns {
  readonly patterns: readonly object[];
}
const { default: config } = (await import(new URL('../../oxlint.config.mjs', import.meta.url).href)) as {
  default: { overrides: { files: string[]; rules?: { 'no-restricted-imports'?: [string, Patterns] } }[] };
};

describe('the lock takes its clock, its chance and its network as arguments, so the linter', () => {
  let found: ReadonlyMap<string, string[]>;

  before(() => (found = findings([...refused, ...allowed])));

  const refused = [
    'setTimeout(run, 5)',
    'setInterval(run, 5)',
    'setImmediate(run)',
    'globalThis.setTimeout(run, 5)',
    'performance.now()',
    'Date.now()',
    'const { now } = Date',
    'process.hrtime()',
    'AbortSignal.timeout(5)',
    'Math.random()',
    'const { random } = Math',
    'crypto.randomUUID()',
    "import { randomUUID } from 'node:crypto'",
    "import * as crypto from 'crypto'",
    "import { setTimeout } from 'node:timers/promises'",
    "import { setTimeout } from 'timers'",
    "import { performance } from 'node:perf_hooks'",
    "import { uptime } from 'node:os'",
    "import net from 'node:net'",
    "import { connect } from 'net'",
    "import tls from 'node:tls'",
    "import dns from 'node:dns/promises'",
  ];
  for (const text of refused)
    it(`refuses ${text}`, () => {
      expect(found.get(text)).to.have.lengthOf(1);
    });

  const allowed = [
    'clock.after(5, run)',
    'new Date(stat.createdAtMs)',
    'process.nextTick(run)',
    'chance.random()',
    "import { createHash } from 'node:crypto'",
    "import { isIP, isIPv6 } from 'node:net'",
    "import { createSecureContext } from 'node:tls'",
    "import { hostname } from 'node:os'",
  ];
  for (const text of allowed)
    it(`allows ${text}`, () => {
      expect(found.get(text)).to.deep.equal([]);
    });
});

it('each room of src has its own rule of imports, which refuses the modules of time, chance and network', () => {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter((each) => each.isDirectory());
  expect(folders).to.have.length.above(10);
  for (const { name } of folders) {
    const ofRoom = config.overrides.findLast(({ files }) => files.includes(`src/${name}/**/*.ts`));
    const [, { patterns }] = ofRoom?.rules?.['no-restricted-imports'] ?? ['', { patterns: [] }];
    expect(patterns, name).to.include.members(surroundings.modulesFor('src'));
    expect(JSON.stringify(patterns[0]), name).to.include(`src/${name} may import from`);
  }
});

it('the lock does not ask Date for the time', () => {
  const asks = /\bDate\(\)/;
  expect(['new Date()', 'Date()', 'new Date(0)'].map((text) => asks.test(text))).to.deep.equal([true, true, false]);
  const files = ['src', 'packages/zklock/src/board'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(root, folder, file)),
  );
  expect(files).to.have.length.above(200);
  expect(files.filter((file) => asks.test(readFileSync(file, 'utf8')))).to.deep.equal([]);
});

/** The linter's messages for each text. */
function findings(texts: readonly string[]): Map<string, string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'lint-'));
  try {
    const [{ rules }] = surroundings.overrides;
    const imports = { 'no-restricted-imports': ['error', { patterns: surroundings.modulesFor('src') }] };
    const config = { categories: { correctness: 'off' }, env: { node: true }, rules: { ...rules, ...imports } };
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    for (const [index, text] of texts.entries()) writeFileSync(join(folder, `${index}.ts`), text);
    const oxlint = join(root, 'node_modules/oxlint/bin/oxlint');
    const args = [oxlint, '-c', 'config.json', '-f', 'json', '.'];
    const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
    const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; message: string }[] };
    const saidOf = (index: number): string[] =>
      diagnostics.filter(({ filename }) => filename === `${index}.ts`).map(({ message }) => message);
    return new Map(texts.map((text, index) => [text, saidOf(index)]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
