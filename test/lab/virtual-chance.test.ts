import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Random } from '../../lab/random.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('a virtual uuid', () => {
  const uuids = (seed: number): string[] => {
    const chance = new Random(seed, 0);
    return Array.from({ length: 1_000 }, () => chance.uuid());
  };

  it('is of version 4, as one of node:crypto is', () => {
    for (const uuid of [crypto.randomUUID(), ...uuids(1)])
      expect(uuid).to.match(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('depends on the seed alone, and is new each time', () => {
    expect(uuids(1)).to.deep.equal(uuids(1));
    expect(new Set([...uuids(1), ...uuids(2)])).to.have.property('size', 2_000);
  });
});

describe('the chance of a test on virtual time', function () {
  this.timeout(600_000);
  let folder: string;
  let both: Record<string, string>;
  let alone: Record<string, string>;
  let other: Record<string, string>;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'chance-'));
    [both, alone, other] = [drawn('1'), drawn('1', '-g', 'the second'), drawn('2')];
  });
  after(() => rmSync(folder, { recursive: true }));

  it('depends on the test and on TEST_SEED, and not on the tests before it', () => {
    expect(both['second']).to.be.a('string').and.equal(alone['second']);
    expect(both['second']).to.not.equal(both['first']);
    expect(other['second']).to.be.a('string').and.not.equal(both['second']);
  });

  it('that a hook around a suite draws depends on the hook and on TEST_SEED, and not on the tests before it', () => {
    const hooks = ['before', 'earlier', 'after', 'later'];
    const drawnByHooks = hooks.map((hook) => both[hook]);
    expect(new Set(drawnByHooks.filter((text) => text !== undefined))).to.have.property('size', hooks.length);
    expect(hooks.map((hook) => alone[hook])).to.deep.equal(drawnByHooks);
    for (const hook of hooks) expect(other[hook]).to.be.a('string').and.not.equal(both[hook]);
  });

  /** Returns the draws of Math.random and randomUUID in two tests, and in the hooks around the second. */
  function drawn(seed: string, ...args: string[]): Record<string, string> {
    const file = join(folder, 'drawn.test.ts');
    const drawing = "process.getBuiltinModule('node:crypto').randomUUID() + Math.random()";
    const draw = (name: string) => `() => console.log('drawn ${name} ' + ${drawing})`;
    const test = (name: string) => `it('the ${name}', ${draw(name)})`;
    const hooks = `before(${draw('before')}); before(${draw('earlier')}); after(${draw('after')}); after(${draw('later')});`;
    writeFileSync(file, `${test('first')}; describe('and', () => { ${hooks} ${test('second')}; });`);
    const { stdout } = spawnSync(process.execPath, ['node_modules/mocha/bin/mocha.js', file, ...args], {
      cwd: root,
      env: { ...process.env, TEST_WORLD: 'virtual', TEST_SEED: seed },
      encoding: 'utf8',
    });
    const lines = [...stdout.matchAll(/drawn (\w+) (\S+)/g)];
    return Object.fromEntries(lines.map(([, name = '', text = '']): [string, string] => [name, text]));
  }
});
