import { expect } from 'chai';

const { changelogOf, isAfter } = (await import(script('release/version.mjs'))) as {
  changelogOf(text: string, version: string, date: string): { text: string; section: string };
  isAfter(version: string | undefined, released: string | undefined, current: string): boolean;
};
const { passages, replacePassage } = (await import(script('mutants/passage.mjs'))) as {
  passages(text: string, find: string): [number, number][];
  replacePassage(text: string, find: string, replacement: string): string;
};

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
  for (const [version, released, isTaken] of cases) {
    it(`may ${isTaken ? '' : 'not '}be ${version ?? 'left out'} after ${released ?? 'no release, with 0.1.0 in package.json'}`, () => {
      expect(isAfter(version, released, '0.1.0')).to.equal(isTaken);
    });
  }
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

function script(path: string): string {
  return new URL(`../../scripts/${path}`, import.meta.url).href;
}
