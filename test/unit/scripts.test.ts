import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const { changelogOf, isAfter, manifestWith, withVersion } = (await import(script('release/version.mjs'))) as {
  changelogOf(text: string, version: string, date: string): { text: string; section: string };
  isAfter(version: string | undefined, released: string | undefined, current: string): boolean;
  manifestWith(manifest: object, version: string): string;
  withVersion(source: string, version: string): string;
};
const { passages, replacePassage } = (await import(script('mutants/passage.mjs'))) as {
  passages(text: string, find: string): [number, number][];
  replacePassage(text: string, find: string, replacement: string): string;
};
const { Types } = (await import(script('mutants/types.mjs'))) as {
  Types: new (folder: string, files: string[]) => { errorsIn(files: string[]): string };
};
const { couldRun, deal, sumOf } = (await import(script('shards.mjs'))) as {
  couldRun(result: { lacks?: string[] }): boolean;
  deal(files: string[], weightOf: (file: string) => number, count: number): string[][];
  sumOf(results: Result[]): Required<Result>;
};
const { linesOfTable } = (await import(script('table.mjs'))) as {
  linesOfTable(rows: (Omit<Result, 'problems'> & { name: string; took: number; again: string })[]): string[];
};
const { filesOf, isVirtual } = (await import(script('suites.mjs'))) as {
  filesOf(paths: string[]): string[];
  isVirtual(file: string): boolean;
};
const { choose } = (await import(script('mutants/choose.mjs'))) as {
  choose(mutants: Mutant[], changed: string[], how: { most: number; sample: number }): Mutant[];
};

interface Result {
  passed: number;
  failed: number;
  skipped: number;
  problems: string[];
  lacks?: string[];
}

interface Mutant {
  name: string;
  file: string;
  tests: { files: string[]; named: string[] };
}

describe('the test files of a run', () => {
  it('are dealt out by weight, each once, the heaviest first', () => {
    const weights: Record<string, number> = { a: 1, b: 9, c: 4, d: 5, e: 1 };
    const lists = deal(Object.keys(weights), (file) => weights[file] ?? 0, 2);
    expect(lists).to.deep.equal([
      ['a', 'b'],
      ['c', 'd', 'e'],
    ]);
  });

  it('are in the same lists in whatever order they are found', () => {
    const files = ['a', 'b', 'c', 'd', 'e'];
    const dealt = deal(files, () => 1, 3);
    expect(deal([...files].reverse(), () => 1, 3)).to.deep.equal(dealt);
  });

  it('give no empty list', () => {
    expect(deal(['a'], () => 1, 4)).to.deep.equal([['a']]);
  });

  it('are found by a glob in every folder below, or only in the one it names, each once', () => {
    const [direct, below] = ['test/unit/wire.test.ts', 'test/unit/cli/check.test.ts'];
    const chosen = (...paths: string[]): string[] => filesOf(paths).filter((file) => [direct, below].includes(file));
    const again = new URL(`../../${direct}`, import.meta.url).pathname;
    expect(chosen('test/unit/**/*.test.ts', direct, again)).to.deep.equal([below, direct]);
    expect(chosen('test/unit/*.test.ts')).to.deep.equal([direct]);
    expect(filesOf(['test/nowhere/**/*.test.ts'])).to.deep.equal([]);
  });

  it('of behaviour are in the virtual world, and the others are not', () => {
    expect(isVirtual('test/behaviour/hold.test.ts')).to.equal(process.env['TEST_WORLD'] !== 'real');
    expect(isVirtual('test/unit/wire.test.ts')).to.equal(false);
  });
});

describe('the results of several processes', () => {
  it('add up, and name each reason of skipped tests once', () => {
    const one = { passed: 2, failed: 0, skipped: 1, problems: [], lacks: ['no server'] };
    const two = { passed: 3, failed: 1, skipped: 2, problems: ['it failed'], lacks: ['no server', 'no browser'] };
    const none = { passed: 0, failed: 0, skipped: 0, problems: [] };
    expect(sumOf([one, two, none])).to.deep.equal({
      passed: 5,
      failed: 1,
      skipped: 3,
      problems: ['it failed'],
      lacks: ['no server', 'no browser'],
    });
  });

  it('may have skipped only tests of what an old server, or a real one, lacks', () => {
    const [old, none] = ['ZooKeeper 3.5.5 lacks addWatch', 'ZooKeeper 3.5.5 cannot be had: mvn is not installed'];
    const lists = [[old], ['a real server imitates no other one, and has no pace'], [old, none], [none], []];
    expect(lists.map((lacks) => couldRun({ lacks }))).to.deep.equal([false, false, true, true, true]);
  });

  it('are a table, with the command that repeats what failed', () => {
    const row = { failed: 0, skipped: 0, again: 'npm test' };
    const lines = linesOfTable([
      { ...row, passed: 1234, name: 'tests', took: 2.04 },
      { ...row, passed: 5, failed: 1, name: 'chaos', took: 30, again: 'npm run chaos -- --seed 7' },
    ]);
    expect(lines).to.deep.equal([
      '   2.0 min  1234 passed  0 failed  0 skipped  tests',
      '  30.0 min     5 passed  1 failed  0 skipped  chaos',
      '            again: npm run chaos -- --seed 7',
    ]);
  });
});

describe('the mutants of a change', () => {
  const mutant = (name: string, file: string): Mutant => ({
    name,
    file,
    tests: { files: [`test/unit/${name}.test.ts`], named: [] },
  });
  const all = [
    ...['a', 'b', 'c'].map((name) => mutant(name, 'src/client/options.ts')),
    ...['d', 'e', 'f'].map((name) => mutant(name, 'src/client/other.ts')),
    ...['g', 'h', 'i'].map((name) => mutant(name, 'src/mutex/hold.ts')),
  ];
  const namesOf = (changed: string[], how = { most: 9, sample: 9 }): string =>
    choose(all, changed, how)
      .map(({ name }) => name)
      .join('');

  it('are a sample if nothing has changed', () => {
    expect(namesOf([], { most: 9, sample: 4 })).to.equal('aei');
  });

  it('are those of the changed rooms, and those whose tests have changed', () => {
    expect(namesOf(['src/client/new.ts'])).to.equal('abcdef');
    expect(namesOf(['test/unit/h.test.ts'])).to.equal('ah');
  });

  it('are a part of them if there are many: those of changed files first, and thinned evenly', () => {
    expect(namesOf(['src/client/other.ts'], { most: 4, sample: 9 })).to.equal('adef');
    expect(namesOf(['src/client/new.ts'], { most: 3, sample: 9 })).to.equal('abd');
  });
});

describe('the version of a release', () => {
  const cases: [string | undefined, string | undefined, boolean][] = [
    ['0.1.0', undefined, true],
    ['0.0.9', undefined, false],
    ['0.1.1', '0.1.0', true],
    ['0.1.0', '0.1.0', false],
    ['0.10.0', '0.9.9', true],
    ['1.0.0', '0.99.99', true],
    ['1.0', '0.1.0', false],
    ['v1.0.0', '0.1.0', false],
    [undefined, '0.1.0', false],
  ];
  for (const [version, released, isTaken] of cases)
    it(`may ${isTaken ? '' : 'not '}be ${version ?? 'left out'} after ${released ?? 'no release, with 0.1.0 in package.json'}`, () => {
      expect(isAfter(version, released, '0.1.0')).to.equal(isTaken);
    });
});

describe('the version that the code knows', () => {
  it('is written by a release, which fails if the code knows none', () => {
    const source = "import 'a';\n\nconst version = '0.1.0';\nconst other = '0.1.0';\n";
    expect(withVersion(source, '1.2.3')).to.equal("import 'a';\n\nconst version = '1.2.3';\nconst other = '0.1.0';\n");
    expect(() => withVersion('const other = 1;', '1.2.3')).to.throw('const version');
  });
});

describe('the package.json of a release', () => {
  it('has the version, and the lock in this version as its peer', () => {
    const manifest = {
      name: 'a',
      version: '0.1.0',
      peerDependencies: { kerberos: '^7.0.0', 'zookeeper-fair-lock': '0.1.0' },
    };
    expect(JSON.parse(manifestWith(manifest, '1.2.3'))).to.deep.equal({
      name: 'a',
      version: '1.2.3',
      peerDependencies: { kerberos: '^7.0.0', 'zookeeper-fair-lock': '1.2.3' },
    });
    expect(manifestWith({ name: 'b', version: '0.1.0' }, '1.2.3')).to.equal(
      '{\n  "name": "b",\n  "version": "1.2.3"\n}\n',
    );
  });
});

describe('the changelog of a release', () => {
  it('has the unreleased section under the version and the date, and leaves the others alone', () => {
    const text = '# Changelog\n\n## 0.2.0 (unreleased)\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n';
    const released = changelogOf(text, '0.2.0', '2026-12-01');
    expect(released.text).to.equal(text.replace('unreleased', '2026-12-01'));
    expect(released.section).to.equal('- new');
  });

  it('is refused without an unreleased section, and with an empty one', () => {
    expect(() => changelogOf('# Changelog\n\n## 0.1.0 (2026-01-01)\n\n- old\n', '0.2.0', '2026-12-01')).to.throw(
      'unreleased',
    );
    expect(() => changelogOf('## 0.2.0 (unreleased)\n\n## 0.1.0\n\n- old\n', '0.2.0', '2026-12-01')).to.throw(
      'what changed',
    );
  });
});

describe('the passage that a mutant replaces', () => {
  const text = 'if (held) {\n  grant(\n    hold,\n    token,\n  );\n}\n';

  it('is found however it is broken into lines, with a comma before a closing bracket or without', () => {
    expect(replacePassage(text, 'grant(hold, token);', 'refuse();')).to.equal('if (held) {\n  refuse();\n}\n');
    expect(passages(text, 'hold')).to.have.length(1);
  });

  it('is not found where a character differs, and not replaced where it occurs twice', () => {
    expect(passages(text, 'grant(hold token);')).to.deep.equal([]);
    expect(() => replacePassage('a(); a();', 'a();', '')).to.throw('2 times');
    expect(() => passages(text, ' \n')).to.throw('only white space');
  });
});

describe('the lines that mutants and broken builds replace', () => {
  const once = (lines: readonly Line[]): string[] =>
    lines
      .filter(
        ({ file, find }) =>
          passages(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'), find).length !== 1,
      )
      .map(({ file, find }) => `${file}: ${find}`);

  it('occur once each, so that none is forgotten when code moves', async () => {
    const { mutants } = (await import(script('../test/mutants/list.mjs'))) as { mutants: Line[] };
    // The builds of chaos are among them.
    const { builds: ofSimulation } = (await import(script('../simulation/broken/builds.mjs'))) as {
      builds: { edits: Line[] }[];
    };
    const { builds: ofTraces } = (await import(script('../spec/broken-builds.mjs'))) as { builds: { edit: Line }[] };
    const lines = [...mutants, ...ofSimulation.flatMap(({ edits }) => edits), ...ofTraces.map(({ edit }) => edit)];
    expect(lines.length).to.be.above(600);
    expect(once(lines)).to.deep.equal([]);
  });

  it('are guarded by tests of a file that exists', async () => {
    const { mutants } = (await import(script('../test/mutants/list.mjs'))) as { mutants: Mutant[] };
    const isGuarded = ({ tests: { files, named } }: Mutant): boolean =>
      named.length > 0 && files.every((file) => existsSync(new URL(`../../${file}`, import.meta.url)));
    expect(mutants.filter((mutant) => !isGuarded(mutant))).to.deep.equal([]);
  });
});

describe('the types of a broken build', () => {
  const folder = mkdtempSync(join(tmpdir(), 'types-'));
  after(() => rmSync(folder, { recursive: true }));

  it('are those of the file as it is now, and of what it imports', () => {
    const write = (file: string, text: string): void => writeFileSync(join(folder, file), text);
    write('tsconfig.json', '{ "compilerOptions": { "strict": true, "noUnusedLocals": true, "noLib": true } }');
    write('a.ts', "import { b } from './b';\nconst unused = 1;\nexport const a: number = b;\n");
    write('b.ts', 'export const b = 1;\n');
    const types = new Types(folder, ['a.ts']);
    expect(types.errorsIn(['a.ts'])).to.equal('');
    write('b.ts', "export const b = 'one';\n");
    expect(types.errorsIn(['a.ts'])).to.match(/a\.ts: Type 'string' is not assignable to type 'number'/);
    write('b.ts', 'export const b = 2 /;\n');
    expect(types.errorsIn(['b.ts'])).to.match(/b\.ts: Expression expected/);
  });
});

interface Line {
  readonly file: string;
  readonly find: string;
}

function script(path: string): string {
  return new URL(`../../scripts/${path}`, import.meta.url).href;
}
