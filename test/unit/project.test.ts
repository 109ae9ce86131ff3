import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ClientClosedError, LockLostError, type LockError } from '../../src/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { repository, homepage, bugs } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  repository: { url: string };
  homepage: string;
  bugs: string;
};
const url = repository.url.replace(/^git\+|\.git$/g, '');

describe('the address of the project', () => {
  it('is one: what package.json, the forge’s files and the docs link to is in its repository', () => {
    expect(homepage).to.equal(`${url}#readme`);
    expect(bugs).to.equal(`${url}/issues`);
    const files = [
      'README.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      'CHANGELOG.md',
      ...filesOf('.github'),
      ...filesOf('docs'),
    ];
    const links = files.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/https:\/\/[^\s)>"']+/g) ?? []);
    const ours = links.filter((link) => link.includes('/zookeeper-fair-lock'));
    expect(ours).to.not.have.length(0);
    expect(ours.filter((link) => !`${link}/`.startsWith(`${url}/`))).to.deep.equal([]);
  });

  const errors: [string, LockError][] = [
    ['an error', new ClientClosedError('nothing can be acquired')],
    ['a lost hold', new LockLostError('/locks/a/x', 'session-deadline')],
  ];
  for (const [what, error] of errors) {
    it(`is in the docsUrl of ${what}, which leads to a heading of docs/errors.md`, () => {
      const [page = '', anchor = ''] = error.docsUrl.split('#');
      expect(page).to.equal(`${url}/blob/main/docs/errors.md`);
      expect(anchor).to.equal(error instanceof LockLostError ? error.reason : error.code.toLowerCase());
      const headings = readFileSync(join(root, 'docs/errors.md'), 'utf8').match(/^#+ .*$/gm) ?? [];
      expect(headings.map(anchorOf)).to.include(anchor);
    });
  }
});

describe('the commands of CONTRIBUTING.md', () => {
  const text = (file: string): string => readFileSync(join(root, file), 'utf8');
  const leftOut = '`.ci/run` leaves these out';
  const [run = '', notRun = ''] = text('CONTRIBUTING.md').split('\n## ')[1]?.split(leftOut) ?? [];
  /** The scripts of package.json in the first column, with arguments or without. */
  const scriptsOf = (table: string): string[] =>
    [...table.matchAll(/^\| (`.*?)\|/gm)].flatMap(([, commands = '']) =>
      [...commands.matchAll(/`npm run ([\w:]+)( -- [^`]*)?`/g)].map(([, script = '']) => script),
    );
  const isRun = (script: string): boolean =>
    text('scripts/ci.mjs').includes(`'run', '${script}'`) ||
    text('scripts/check.mjs').includes(`run --silent ${script}`);

  it('are run by `.ci/run`, except those of the second table', () => {
    expect(scriptsOf(run)).to.have.length.above(10);
    expect(scriptsOf(run).filter((script) => !isRun(script))).to.deep.equal([]);
    const inBoth = ['chaos']; // there for half an hour
    expect(scriptsOf(notRun)).to.have.length.above(5);
    expect(scriptsOf(notRun).filter((script) => isRun(script) && !inBoth.includes(script))).to.deep.equal([]);
  });
});

function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter(
      (file) =>
        /\.(?:md|yml)$/.test(file) && !file.startsWith(join('docs', 'api')) && statSync(join(root, file)).isFile(),
    );
}

/** The anchor that GitHub gives to a heading. */
function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');
}
