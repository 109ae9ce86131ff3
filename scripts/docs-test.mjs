// npm run test:docs [-- mocha's arguments, or test files]: every code block of README.md and docs/ compiles and runs, on
// the built package
import { bootstrap } from './bootstrap.mjs';
import { runMochaOnBuilt } from './mocha.mjs';

bootstrap();
process.exitCode = await runMochaOnBuilt(process.argv.slice(2), ['test/docs/*.test.ts']);
