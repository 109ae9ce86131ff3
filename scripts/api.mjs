// npm run api: writes the public declarations of src to api/. With --check it writes nothing, and fails if the
// declarations differ.
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';

// Stay on 7.x: despite its number, api-extractor 8.0.0 is older than 7, and brings TypeScript 3.1.
const isCheck = process.argv.includes('--check');
const folder = mkdtempSync(join(tmpdir(), 'api-'));
// Beside dist, which other commands may write at the same time, and kept, so that the compiler writes only what changed.
const declarations = '.cache/api';
const reports = {
  'zookeeper-fair-lock': `${declarations}/index.d.ts`,
  testing: `${declarations}/testing/index.d.ts`,
  opentelemetry: `${declarations}/telemetry/index.d.ts`,
};

try {
  declare();
  for (const [report, entryPoint] of Object.entries(reports)) write(report, configFor(report, entryPoint));
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function declare() {
  const options = ['--emitDeclarationOnly', '--incremental', '--outDir', declarations];
  const file = ['--tsBuildInfoFile', `${declarations}/.tsbuildinfo`];
  const tsc = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json', ...options, ...file];
  const { status } = spawnSync(process.execPath, tsc, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error('The declarations cannot be made');
}

function write(report, config) {
  const { apiReportChanged, errorCount } = Extractor.invoke(config, { localBuild: !isCheck, messageCallback: quiet });
  if (isCheck && apiReportChanged) showDifference(config);
  if (errorCount > 0 || (isCheck && apiReportChanged)) process.exitCode = 1;
  else console.log(`api/${report}.api.md ${apiReportChanged ? 'was rewritten.' : 'is what src declares.'}`);
}

function configFor(report, entryPoint) {
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, entryPoint),
      compiler: { tsconfigFilePath: join(root, 'tsconfig.build.json') },
      apiReport: {
        enabled: true,
        reportFolder: join(root, 'api'),
        reportTempFolder: folder,
        reportFileName: `${report}.api.md`,
      },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: {
          default: { logLevel: 'error' },
          // Every export is public, and typedoc checks if it is documented. So this tool needs no tags.
          'ae-missing-release-tag': { logLevel: 'none' },
          'ae-undocumented': { logLevel: 'none' },
        },
        // TSDoc is stricter than typedoc: it refuses examples without fences, and @default.
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  });
}

function showDifference(config) {
  spawnSync('git', ['diff', '--no-index', config.reportFilePath, config.reportTempFilePath], { stdio: 'inherit' });
  console.error(
    'The public API is not what api/ says. If you meant to change it: npm run api, and tell the CHANGELOG.',
  );
}

function quiet(message) {
  if (message.logLevel !== 'error') message.handled = true;
}
