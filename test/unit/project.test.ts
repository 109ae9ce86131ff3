import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { ClientClosedError, LockClient, LockLostError, type LockError } from '../../src/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { version, repository, homepage, bugs } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  version: string;
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
      'ARCHITECTURE.md',
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
  for (const [what, error] of errors)
    it(`is in the docsUrl of ${what}, which leads to a heading of docs/errors.md`, () => {
      const [page = '', anchor = ''] = error.docsUrl.split('#');
      expect(page).to.equal(`${url}/blob/main/docs/errors.md`);
      expect(anchor).to.equal(error instanceof LockLostError ? error.reason : error.code.toLowerCase());
      const headings = readFileSync(join(root, 'docs/errors.md'), 'utf8').match(/^#+ .*$/gm) ?? [];
      expect(headings.map(anchorOf)).to.include(anchor);
    });
});

describe('the version of the package', () => {
  it('is the one that its objects tell to other copies of the package', () => {
    const { version: told } = LockClient.prototype[Symbol.for('zookeeper-fair-lock/copy') as never] as {
      version: string;
    };
    expect(told).to.equal(version);
  });
});

describe('a command', () => {
  const text = (file: string): string => readFileSync(join(root, file), 'utf8');
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> };

  it('of CONTRIBUTING.md is one of package.json', () => {
    const named = [...text('CONTRIBUTING.md').matchAll(/`?npm run ([\w:]+)/g)].map(([, script = '']) => script);
    expect(named).to.have.length.above(5);
    expect(named.filter((script) => !(script in scripts))).to.deep.equal([]);
  });

  it('of package.json that tests, soaks or simulates is run by the gate or by the night', () => {
    const isTest = (script: string): boolean =>
      /^(test|soak|chaos|simulate|check|docs|coverage|lock-set)\b/.test(script);
    const run = text('scripts/ci.mjs') + text('scripts/night.mjs');
    const left = Object.keys(scripts).filter((script) => isTest(script) && !run.includes(`'${script}'`));
    expect(left).to.deep.equal([]);
  });
});

describe('an optional property of public options', () => {
  it('may be undefined, so that an application can pass its own optional value on with exactOptionalPropertyTypes', () => {
    const text = ['api', 'packages/guards/src'] // The guards, whose entries are many, have no report in api.
      .flatMap((folder) => readdirSync(join(root, folder)).map((file) => join(root, folder, file)))
      .filter((file) => statSync(file).isFile())
      .map((file) => readFileSync(file, 'utf8'));
    const options = text.join('').match(/^export interface \w*(?:Options|Account|Step)\b[^{]*\{$.*?^\}/gms) ?? [];
    const optional = options.flatMap((body) => body.match(/^ +(?:readonly )?\w+\?: .*;$/gm) ?? []);
    expect(optional).to.have.length.above(50);
    expect(optional.filter((property) => !/( undefined|'\]);$/.test(property))).to.deep.equal([]);
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
