// npm run suite -- embedded [--sequences 20000 --seed 1] [mocha's arguments, or test files]: compares the embedded
// ZooKeeper with the real one
import { bootstrap } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';

const variables = { '--sequences': 'EMBEDDED_SEQUENCES', '--seed': 'EMBEDDED_SEED' };
const args = process.argv.slice(2);
for (const [option, variable] of Object.entries(variables)) {
  const at = args.indexOf(option);
  if (at === -1) continue;
  const [, value] = args.splice(at, 2);
  if (!/^\d+$/.test(value ?? '')) {
    console.error(`Expected a whole number after ${option}, got ${value ?? 'nothing'}`);
    process.exit(2);
  }
  process.env[variable] = value;
}

bootstrap();
process.exitCode = await runMocha(process.execPath, args, ['test/contract/embedded/**/*.test.ts']);
