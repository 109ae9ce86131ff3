// npm run api: writes the public declarations of dist to api/. With --check it writes nothing, and fails if the
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
const config = ExtractorConfig.prepare({
  configObject: {
    projectFolder: root,
    mainEntryPointFilePath: join(root, 'dist/index.d.ts'),
    compiler: { tsconfigFilePath: join(root, 'tsconfig.build.json') },
    apiReport: {
      enabled: true,
      reportFolder: join(root, 'api'),
      reportTempFolder: folder,
      reportFileName: 'zookeeper-fair-lock.api.md',
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
      // TSDoc is stricter than typedoc, for which the docstrings here are written: examples without fences, @default.
      tsdocMessageReporting: { default: { logLevel: 'none' } },
    },
  },
  configObjectFullPath: undefined,
  packageJsonFullPath: join(root, 'package.json'),
});

try {
  const { apiReportChanged, errorCount } = Extractor.invoke(config, { localBuild: !isCheck, messageCallback: quiet });
  if (isCheck && apiReportChanged) showDifference();
  process.exitCode = errorCount > 0 || (isCheck && apiReportChanged) ? 1 : 0;
  if (process.exitCode === 0)
    console.log(apiReportChanged ? 'The report in api/ was rewritten.' : 'The report in api/ is what dist declares.');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function showDifference() {
  spawnSync('git', ['diff', '--no-index', config.reportFilePath, config.reportTempFilePath], { stdio: 'inherit' });
  console.error(
    'The public API differs from api/. If you want this change, run npm run api, commit the result, and add a line to the CHANGELOG.',
  );
}

function quiet(message) {
  if (message.logLevel !== 'error') message.handled = true;
}
