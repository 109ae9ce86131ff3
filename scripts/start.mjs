// npm start: runs the demonstration
import { bootstrap, root } from './bootstrap.mjs';
import { run } from './run.mjs';

bootstrap();
process.exitCode = await run(process.execPath, ['--import=tsx', 'demo/main.ts', ...process.argv.slice(2)], {
  cwd: root,
});
