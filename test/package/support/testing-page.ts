import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { blocksOf, root } from '../../docs/support/blocks.ts';
import { toolCommand } from './tool-command.ts';

const page = 'docs/testing.md';

/** The libraries whose fake timers the page shows, as its table names them. */
export type Timers = 'vitest' | 'jest' | 'sinon' | 'Node.js';

/** The code of the page that the tests of the page test, as an ES module or in CommonJS. */
export function codeUnderTest(modules: 'import' | 'require'): string {
  const { code } = shown();
  return modules === 'import' ? code : required(code);
}

/** The tests of the page, with the changes that the page tells for the library that runs them. */
export function testsOfPage(timers: Timers, modules: 'import' | 'require' = 'import'): string {
  const { tests, fakeTimers } = shown();
  const end = tests.lastIndexOf('});');
  const all = `${tests.slice(0, end)}\n${fakeTimers}\n${inRealTime}\n${tests.slice(end)}`;
  const changed = timers === 'vitest' || timers === 'jest' ? all.replace(/\b(before|after)\(/g, '$1All(') : all;
  const file = `${importOf(timers)}\n${withTimersOf(timers, changed)}`;
  // With `require`, `jest` is global.
  return modules === 'import' ? file : required(file.replace(/^import .* from '@jest\/globals'\n/m, ''));
}

/** While time is fake, the library connects, waits and times out in real time. */
const inRealTime = `
  it('waits for the lock in real time', async () => {
    vi.useFakeTimers();
    const other = await LockClient.connect(zk.connectString);
    const late = () => other.withLock('/locks/report', () => undefined, { timeoutMs: 20 });
    await sendReport(client, () => assert.rejects(late(), { code: 'ERR_LOCK_TIMEOUT' }));
    await other.close();
  });
`;

/** The three blocks of the page that are neither TypeScript nor text. */
function shown(): { code: string; tests: string; fakeTimers: string } {
  const blocks = blocksOf(page).filter(({ language }) => language === 'js');
  expect(blocks, `blocks in JavaScript of ${page}`).to.have.length(3);
  const [code = '', tests = '', fakeTimers = ''] = blocks.map((block) => block.code);
  return { code, tests, fakeTimers };
}

/** Writes the calls of a row of the table in the place of the calls of vitest. */
function withTimersOf(timers: Timers, file: string): string {
  const [ours, theirs] = [callsOf('vitest'), callsOf(timers)];
  return ours.reduce((text, call, index) => text.replaceAll(call, theirs[index] ?? ''), file);
}

/** The calls in a row of the table of fake timers. */
function callsOf(timers: Timers): readonly string[] {
  const rows = readFileSync(`${root}${page}`, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`| ${timers}`));
  expect(rows, `rows of ${timers} in ${page}`).to.have.length(1);
  const calls = [...(rows[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, call = '']) => call);
  expect(calls, `calls of ${timers} in ${page}`).to.have.length(3);
  return calls;
}

function importOf(timers: Timers): string {
  const names = {
    vitest: 'import { afterAll,',
    jest: 'import { jest }',
    sinon: 'import sinon',
    'Node.js': 'import { mock }',
  };
  return toolCommand(names[timers], page);
}

/** The same module in CommonJS. */
function required(file: string): string {
  const names = [...file.matchAll(/^export function (\w+)/gm)].map(([, name = '']) => name);
  const text = file
    .replace(/^import (.+) from ('.+');$/gm, 'const $1 = require($2);')
    .replace(/^export function /gm, 'function ');
  return names.length === 0 ? text : `${text}\nmodule.exports = { ${names.join(', ')} };\n`;
}
