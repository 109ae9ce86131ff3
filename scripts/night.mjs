// npm run night [-- --list | --only name,name | --part 1/3 | --seed number]: what the gate leaves out. It may take hours.
// Every step runs, also after a failure. --part deals out the steps to several machines.
import { parseArgs } from 'node:util';
import { deal } from './shards.mjs';
import { bootstrap } from './bootstrap.mjs';
import { freshSeed, runSteps } from './steps.mjs';

const { values } = parseArgs({
  options: { list: { type: 'boolean' }, only: { type: 'string' }, part: { type: 'string' }, seed: { type: 'string' } },
});
const seed = values.seed ?? String(freshSeed());

bootstrap();
const { serverVersions } = await import('./server-versions.mjs');
const npm = (...args) => ['npm', 'run', ...args];
const suite = (...args) => npm('suite', '--', ...args);
const chosen = choose([
  step('real', 60, ['npm', 'test', '--', '--world', 'real']),
  step('delays', 30, ['npm', 'test'], { TEST_SEED: seed }),
  step(
    'flipped-bits',
    30,
    ['npm', 'test', '--', 'test/faults/flipped-bits.test.ts', 'test/faults/flipped-lists.test.ts'],
    {
      TEST_SEED: seed,
    },
  ),
  step('node-22', 30, ['node', 'scripts/node-versions.mjs', '22']),
  step('node-24', 30, ['node', 'scripts/node-versions.mjs', '24']),
  step('coverage', 30, suite('coverage')),
  step('pairs', 120, suite('faults'), { FAULTS_PAIRS: '1' }),
  step('model', 30, suite('model'), {
    MODEL_HISTORIES: '100000',
  }),
  step('spec', 60, npm('spec')),
  step('burst', 5, ['npm', 'test', '--', 'test/behaviour/field/burst.test.ts'], { BURST: '20000' }),
  step('rush', 10, ['npm', 'test', '--', 'test/contract/processes/rush.test.ts'], { RUSH_MS: '240000' }),
  step('mutants', 120, suite('mutants')),
  step('embedded', 20, suite('embedded', '--sequences', '20000', '--seed', seed)),
  step('embedded-suite', 60, suite('embedded-suite')),
  step('ensemble', 30, suite('ensemble')),
  step('interop', 45, suite('interop')),
  ...serverVersions.map(({ version }) => step(`server-${version}`, 90, npm('test:versions', '--', '--only', version))),
  step('interop-debian', 30, suite('interop'), { CURATOR_VERSION: 'debian', KAZOO_VERSION: 'debian' }),
  step('containers', 60, suite('containers')),
  step('tls', 30, suite('tls')),
  step('tls-real', 90, ['npm', 'test', '--', '--world', 'real'], { ZK_TLS: '1' }),
  step('kerberos', 20, suite('kerberos')),
  step('package', 45, suite('package', '--night')),
  step('console', 20, suite('console')),
  step('chaos', 45, npm('chaos', '--', '--minutes', '30', '--seed', seed)),
  step('histories', 20, npm('histories', '--', '--minutes', '10', '--seed', seed)),
  step('chaos-broken', 150, suite('chaos-broken')),
  step('simulate', 30, npm('simulate', '--', '--seeds', seed, '--minutes', '20')),
  step('simulate-broken', 60, suite('simulate-broken')),
  step('soak-idle', 80, suite('soak-idle')),
  step('soak-busy', 30, suite('soak-busy')),
  step('soak-board', 20, suite('soak-board')),
  step('lock-set', 45, suite('lock-set')),
  step('guards', 20, suite('guards')),
  step('guards-node-24', 10, [
    'node',
    'scripts/node-versions.mjs',
    '24',
    'packages/guards/test/every-store.test.ts',
    '-g',
    'node:sqlite',
  ]),
  ...['pg', 'mysql2', 'better-sqlite3', 'ioredis'].map((library) =>
    step(`guards-${library}`, 180, ['npm', 'test', '--', 'packages/guards/test/rounds.test.ts', '-g', library], {
      GUARDS_ROUNDS: '1000',
    }),
  ),
  step('bench', 20, npm('bench', '--', '--brief')),
]);

if (values.list) for (const { name, command } of chosen) console.log(`${name.padEnd(16)} ${command.join(' ')}`);
else {
  console.log(`The seed of this night is ${seed}`);
  process.exitCode = await runSteps(chosen);
}

function step(name, minutes, command, env = {}) {
  return { name, minutes, command, env };
}

function choose(steps) {
  const names = values.only?.split(',') ?? steps.map(({ name }) => name);
  const unknown = names.filter((name) => !steps.some((each) => each.name === name));
  if (unknown.length > 0) throw new RangeError(`Expected --only to name steps of --list, got ${unknown.join(', ')}`);
  const [, part, parts] = /^(\d+)\/(\d+)$/.exec(values.part ?? '1/1') ?? [];
  const dealt = deal(names, (name) => steps.find((each) => each.name === name).minutes, Number(parts))[part - 1];
  if (dealt === undefined) throw new RangeError(`Expected --part to be like 1/3, got ${values.part}`);
  return steps.filter(({ name }) => dealt.includes(name));
}
