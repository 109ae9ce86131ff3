// npm run house [-- src/file.ts]: the size of the house: what it was at commit 7fbe5a6, what it is, and what it should not
// exceed. With a file, the tests that import it, and those of its mutants.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { mutants } from '../test/mutants/list.mjs';
import { packages } from './packages.mjs';

bootstrap();
const [subject] = process.argv.slice(2);
if (subject !== undefined) {
  for (const test of testsOf(relative(root, resolve(subject)))) console.log(test);
  process.exit();
}
const compiled = join(root, '.cache/house');
const tsc = [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json', '--outDir', compiled];
execFileSync(process.execPath, tsc, { cwd: root, stdio: 'inherit' });
writeFileSync(join(compiled, 'package.json'), '{ "type": "commonjs" }');
const cycle = JSON.parse(
  execFileSync(process.execPath, [join(root, 'scripts/house/cycle.mjs')], {
    encoding: 'utf8',
    env: { ...process.env, HOUSE_COMPILED: compiled },
  }),
);
const recipe = cycle.files.filter((file) => /^(mutex|internals|driver)\//.test(file));

const files = packages.flatMap(({ folder }) =>
  readdirSync(join(root, folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, 'src', file)),
);
const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const ofLock = [...texts].filter(([file]) => file.startsWith('src/'));
const classes = [...texts].flatMap(([file, text]) =>
  [...text.matchAll(/^(?:export )?(?:abstract )?class (\w+)[^]*?^}/gm)].map(([whole, name]) => ({
    name: `${name} in ${file}`,
    lines: linesOf(whole),
  })),
);
const folders = files.map((file) => dirname(file));
const rooms = [...new Set(folders)].map((name) => ({ name, files: folders.filter((each) => each === name).length }));
const largestClass = largest(classes, 'lines');
const largestRoom = largest(rooms, 'files');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

for (const [measure, was, is, goal, what = ''] of [
  ['', 'was', 'is', 'goal'],
  ['files of acquire and release, uncontended', 41, cycle.files.length, 28],
  ['of these, files of the recipe', 22, recipe.length, 12, 'mutex, internals, driver'],
  ['calls', 557, cycle.calls, 400],
  ['promises', 31, cycle.promises, 20],
  ['lines of the largest class', 744, largestClass.lines, 350, largestClass.name],
  ['files of the largest room', 63, largestRoom.files, 18, largestRoom.name],
  ['lines of the lock in src', 19_558, sum(ofLock.map(([, text]) => linesOf(text))), 17_500],
  ['lines of all packages', 28_546, sum([...texts.values()].map(linesOf)), ''],
  ['lines of scripts', 5_055, sum(readAll('scripts', '.mjs').map(linesOf)), 2_000],
  ['bytes of CONTRIBUTING.md', 39_612, statSync(join(root, 'CONTRIBUTING.md')).size, 8_192],
  ['npm scripts', 41, Object.keys(scripts).length, 16],
])
  console.log(`${measure.padEnd(42)}${[was, is, goal].map((each) => String(each).padStart(8)).join('')}  ${what}`);

function readAll(folder, ending) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => readFileSync(join(root, folder, file), 'utf8'));
}

function linesOf(text) {
  return text.split('\n').length;
}

function largest(list, key) {
  return list.reduce((most, each) => (each[key] > most[key] ? each : most));
}

function sum(numbers) {
  return numbers.reduce((all, each) => all + each, 0);
}

function testsOf(file) {
  if (!existsSync(join(root, file))) throw new RangeError(`Expected a file of the project, got ${file}`);
  const tests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((each) => each.endsWith('.test.ts'))
    .map((each) => `test/${each}`);
  const importing = tests.filter((each) => readFileSync(join(root, each), 'utf8').includes(`/${file}'`));
  const ofMutants = mutants.filter((mutant) => mutant.file === file).flatMap((mutant) => mutant.tests.files);
  return [...new Set([...importing, ...ofMutants])].sort();
}
