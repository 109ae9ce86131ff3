// npm run test:examples [-- mocha's arguments, or test files]: runs the programs of examples/ with the built package,
// as users would
import { bootstrap, root } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';
import { run } from './run.mjs';

bootstrap();
process.exitCode = await run(process.execPath, ['scripts/build.mjs'], { cwd: root });
if (process.exitCode === 0) {
  const args = process.argv.slice(2);
  process.exitCode = await runMocha(
    process.execPath,
    args.some((argument) => argument.endsWith('.ts')) ? args : ['test/examples/*.test.ts', ...args],
  );
}
