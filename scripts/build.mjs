// npm run build: dist, with nothing in it that src has no longer, since all of dist is shipped
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';
import { run } from './run.mjs';

rmSync(join(root, 'dist'), { recursive: true, force: true });
process.exitCode = await run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], { cwd: root });
