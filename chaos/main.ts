// npm run chaos [-- --minutes 5 --seed 7 --clients 6 --java 2 --sticky mixed --out folder]
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { readOptions } from './options.ts';
import { run } from './run.ts';

const options = readOptions(process.argv.slice(2));
console.log(
  `chaos: ${options.minutes} minutes, ${options.clients} clients, ${options.java} of Java Curator, sticky ${options.sticky}, seed ${options.seed}`,
);
const history = await run(options).catch((error: unknown) => {
  // Exit code 1 means that the checker found a violation.
  console.error(error);
  process.exit(2);
});
console.log(history);
// A separate program checks the history, so that the file alone decides.
const checker = spawnSync(
  process.execPath,
  ['--import=tsx', fileURLToPath(new URL('check.ts', import.meta.url)), history],
  { stdio: 'inherit' },
);
process.exitCode = checker.status ?? 2;
