// npm test [-- mocha's arguments, or test files]
import { bootstrap } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';

bootstrap();
process.exitCode = await runMocha(process.execPath, process.argv.slice(2));
