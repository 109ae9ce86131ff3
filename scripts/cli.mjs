// npm run test:cli [-- mocha's arguments, or test files]: tests zklock, as built
import { bootstrap } from './bootstrap.mjs';
import { runMochaOnBuilt } from './mocha.mjs';

bootstrap();
process.exitCode = await runMochaOnBuilt(process.argv.slice(2), ['test/cli/*.test.ts']);
