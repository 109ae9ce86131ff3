// npm run suite -- coverage [mocha's arguments]: prints the lines and branches of src that no test of `npm test` runs
import { bootstrap, root } from './bootstrap.mjs';
import { run } from './run.mjs';

bootstrap();
process.exitCode = await run(
  process.execPath,
  ['node_modules/c8/bin/c8.js', process.execPath, 'scripts/test.mjs', ...process.argv.slice(2)],
  { cwd: root },
);
