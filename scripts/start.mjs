// npm start: runs the demonstration
import { bootstrap, bootstrapDemo, root } from './bootstrap.mjs';
import { run } from './run.mjs';

// Docker and Debian's packages need more than the demonstration itself.
if (process.argv.includes('--real')) bootstrap();
else bootstrapDemo();
process.exitCode = await run(process.execPath, ['--import=tsx', 'demo/main.ts', ...process.argv.slice(2)], {
  cwd: root,
});
