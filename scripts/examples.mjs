// npm run test:examples [-- mocha's arguments, or test files]: runs the programs of examples/ with the built package,
// as users would
import { bootstrap } from './bootstrap.mjs';
import { runMochaOnBuilt } from './mocha.mjs';

bootstrap();
process.exitCode = await runMochaOnBuilt(process.argv.slice(2), ['test/examples/*.test.ts']);
