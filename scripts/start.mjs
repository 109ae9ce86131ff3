// npm start: runs the demonstration
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootstrap, bootstrapDemo, root } from './bootstrap.mjs';
import { run } from './run.mjs';

const args = process.argv.slice(2);
process.exitCode = await run(process.execPath, [...(await demonstration()), ...args], { cwd: root });

/** The arguments of the Node that runs the demonstration. */
async function demonstration() {
  if (args.includes('--real')) {
    // Docker and Debian's packages need more than the demonstration itself.
    bootstrap();
    return ['--import=tsx', 'demo/main.ts'];
  }
  bootstrapDemo();
  return [await build()];
}

/**
 * Translates the demonstration to JavaScript, once for its five processes. The files go to a folder of their own,
 * because the user may not be allowed to write in this one.
 */
async function build() {
  const { build: bundle } = await import('esbuild');
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  await bundle({
    absWorkingDir: root,
    entryPoints: ['demo/main.ts', 'demo/worker.ts'],
    outdir: folder,
    bundle: true,
    splitting: true,
    format: 'esm',
    outExtension: { '.js': '.mjs' },
    platform: 'node',
    target: 'node20',
    external: Object.keys(devDependencies),
    // node-zookeeper-client is CommonJS, and asks for Node's own modules by require.
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    logLevel: 'warning',
  });
  return join(folder, 'main.mjs');
}
