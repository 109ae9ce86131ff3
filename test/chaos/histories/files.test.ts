import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { writeFiles } from '../../../chaos/histories/files.ts';
import { judgeFiles } from '../../../chaos/histories/judge.ts';
import { parseOperations, type Operation } from '../../../chaos/histories/operation.ts';
import { calm, Script } from '../../lab/judge/support/script.ts';

const program = fileURLToPath(new URL('../../../chaos/histories/main.ts', import.meta.url));

describe('the files of a history in Jepsen’s form', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'histories-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  const of = (name: string): Operation[] => parseOperations(readFileSync(join(folder, name), 'utf8'));
  const shape = ({ type, f, value, process }: Operation): unknown[] => [type, f, value, process];

  function appending(): Script {
    const script = calm().hold('c1', 'x', { call: 990, granted: 1_000, token: 10 });
    const list = { type: 'list', part: 0, numbers: [], answeredAt: 1_002 } as const;
    return script
      .own('c1', 'x', 1_001, { ...list, append: 7, to: 0 })
      .own('c1', 'x', 1_010, { type: 'appended', append: 7, outcome: 'ok' })
      .own('c1', 'x', 1_011, { ...list, numbers: [7], answeredAt: 1_012, append: 8, to: 0 })
      .fault('kill-client', 'c1', 1_020, 1_030);
  }

  it('have the appends of Elle, with one unknown for a process that died', () => {
    writeFiles(appending().history, folder);
    expect(of('list-append.jsonl').map(shape)).to.deep.equal([
      [
        'invoke',
        'txn',
        [
          ['r', 'a-0', null],
          ['append', 'a-0', 7],
        ],
        0,
      ],
      [
        'ok',
        'txn',
        [
          ['r', 'a-0', []],
          ['append', 'a-0', 7],
        ],
        0,
      ],
      [
        'invoke',
        'txn',
        [
          ['r', 'a-0', null],
          ['append', 'a-0', 8],
        ],
        0,
      ],
      [
        'info',
        'txn',
        [
          ['r', 'a-0', [7]],
          ['append', 'a-0', 8],
        ],
        0,
      ],
    ]);
  });

  it('have times in nanoseconds since the beginning, and indices without a gap', () => {
    writeFiles(appending().history, folder);
    const operations = of('list-append.jsonl');
    expect(operations.map(({ index }) => index)).to.deep.equal([0, 1, 2, 3]);
    expect(operations.map(({ time }) => time).slice(0, 3)).to.deep.equal([1_001_000_000, 1_010_000_000, 1_011_000_000]);
  });

  it('have the registers of Knossos', () => {
    const script = calm().hold('c1', 'x', { path: '/b', call: 5_000, granted: 5_001, token: 30, until: 5_009 });
    script.own('c1', 'x', 5_006, { type: 'read', value: 'x/1', answeredAt: 5_007 });
    writeFiles(script.history, folder);
    const [write, , read, answer] = of('register-b.jsonl').slice(-4);
    expect([write?.f, write?.token]).to.deep.equal(['write', '30']);
    expect([read?.f, read?.value, answer?.value]).to.deep.equal(['read', null, write?.value]);
  });

  it('end the hold of a killed process when it is killed, and let the next acquire another process', () => {
    writeFiles(appending().history, folder);
    const release = of('lock-a.jsonl').find(({ f, hold }) => f === 'release' && hold?.owner === 'x');
    expect([release?.time, release?.hold?.end]).to.deep.equal([1_020_000_000, 'excused']);
  });

  it('end a lost hold when its code is told', () => {
    const script = calm().hold('c1', 'x', { call: 990, granted: 1_000, token: 10 }).lose('c1', 'x', 1_100);
    writeFiles(script.history, folder);
    const release = of('lock-a.jsonl').find(({ f, hold }) => f === 'release' && hold?.owner === 'x');
    expect([release?.time, release?.hold?.end]).to.deep.equal([1_100_000_000, 'told']);
  });

  it('are judged without the history that they come from', () => {
    const script = appending().hold('c2', 'y', { call: 995, granted: 1_005, until: 1_300, token: 11 });
    const { rows, findings } = judgeFiles(writeFiles(script.history, folder));
    expect(findings.map(({ file, rule }) => [file, rule])).to.deep.equal([[join(folder, 'lock-a.jsonl'), 'exclusion']]);
    expect(rows.filter(({ broken }) => broken > 0).map(({ promise }) => promise)).to.deep.equal(['exclusion']);
  });

  it('end the program with exit code 1 and the path of the file if a promise is broken, and else with 0', () => {
    const file = join(folder, 'history.jsonl');
    const run = (script: Script): [number | null, string] => {
      writeFileSync(file, script.text);
      const { status, stdout } = spawnSync(process.execPath, ['--import=tsx', program, file], { encoding: 'utf8' });
      return [status, stdout];
    };
    const [status, stdout] = run(calm());
    expect([status, stdout.includes('list-append')]).to.deep.equal([0, true]);
    const [code, text] = run(
      calm()
        .hold('c1', 'x', { call: 990, granted: 1_000, token: 10, until: 1_200 })
        .hold('c2', 'y', { call: 995, granted: 1_100, until: 1_300, token: 11 }),
    );
    expect(code).to.equal(1);
    expect(text).to.include(`${join(folder, 'lock-a.jsonl')}: exclusion at index`);
  });
});
