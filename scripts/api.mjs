// npm run api: writes the public declarations of each package to api/. With --check it writes nothing, and fails if the
// declarations differ.
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';
import { quiet, withoutTags } from './declarations.mjs';
import { libraries } from './packages.mjs';

// Stay on 7.x: despite its number, api-extractor 8.0.0 is older than 7, and brings TypeScript 3.1.
const isCheck = process.argv.includes('--check');
const scratch = mkdtempSync(join(tmpdir(), 'api-'));
// Beside dist, which other commands may write at the same time, and kept, so that the compiler writes only what changed.
const declarations = '.cache/api';

try {
  declare();
  for (const { folder, manifest } of libraries) {
    const report = manifest.name.split('/').at(-1);
    write(report, configFor(report, folder));
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function declare() {
  const options = ['--emitDeclarationOnly', '--incremental', '--outDir', declarations];
  const file = ['--tsBuildInfoFile', `${declarations}/.tsbuildinfo`];
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', ...options, ...file];
  const isMade = (stdio) => spawnSync(process.execPath, tsc, { cwd: root, stdio }).status === 0;
  // After a change of imports, the compiler may find in its kept state a symbol of Node's types that is no longer there.
  if (!isMade('ignore')) {
    rmSync(join(root, declarations), { recursive: true, force: true });
    if (!isMade('inherit')) throw new Error('The declarations cannot be made');
  }
  // A type that another package imports from the lock belongs to the lock's report: the lock is installed beside it here.
  const installed = join(root, declarations, 'node_modules/zookeeper-fair-lock');
  rmSync(installed, { recursive: true, force: true });
  cpSync(join(root, declarations, 'src'), installed, { recursive: true });
  // Here the name of the lock must not mean the package that this folder is in.
  writeFileSync(join(root, declarations, 'package.json'), '{}');
  const config = { extends: '../../tsconfig.build.json', compilerOptions: { paths: {} }, include: ['**/*.d.ts'] };
  writeFileSync(join(root, declarations, 'tsconfig.json'), JSON.stringify(config));
}

function write(report, config) {
  const { apiReportChanged, errorCount } = Extractor.invoke(config, { localBuild: !isCheck, messageCallback: quiet });
  if (isCheck && apiReportChanged) showDifference(config);
  if (errorCount > 0 || (isCheck && apiReportChanged)) process.exitCode = 1;
  else console.log(`api/${report}.api.md ${apiReportChanged ? 'was rewritten.' : 'is what src declares.'}`);
}

function configFor(report, folder) {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, declarations, folder, 'src/index.d.ts'),
      compiler: { tsconfigFilePath: join(root, declarations, 'tsconfig.json') },
      apiReport: {
        enabled: true,
        reportFolder: join(root, 'api'),
        reportTempFolder: scratch,
        reportFileName: `${report}.api.md`,
      },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: {
          default: { logLevel: 'error' },
          ...withoutTags,
        },
        // TSDoc is stricter than typedoc: it refuses examples without fences, and @default.
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, folder, 'package.json'),
  });
}

function showDifference(config) {
  spawnSync('git', ['diff', '--no-index', config.reportFilePath, config.reportTempFilePath], { stdio: 'inherit' });
  console.error(
    'The public API is not what api/ says. If you meant to change it: npm run check -- --fix api, and tell the CHANGELOG.',
  );
}
