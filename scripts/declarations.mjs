import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import ts from 'typescript';
import { root } from './bootstrap.mjs';

/** Every export is public, and typedoc checks if it is documented. So API Extractor needs no tags. */
export const withoutTags = { 'ae-missing-release-tag': { logLevel: 'none' }, 'ae-undocumented': { logLevel: 'none' } };

/** Writes the public declarations of the lock into one file. Those of its more than 100 files are most of a package. */
export function rollUpDeclarations(entryPoint, file) {
  const config = ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, entryPoint),
      compiler: { tsconfigFilePath: join(root, 'tsconfig.build.json') },
      dtsRollup: { enabled: true, untrimmedFilePath: join(root, file) },
      newlineKind: 'lf',
      messages: {
        extractorMessageReporting: { default: { logLevel: 'error' }, ...withoutTags },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
  });
  const { succeeded } = Extractor.invoke(config, { localBuild: true, messageCallback: quiet });
  if (!succeeded) throw new Error('The declarations of the lock cannot be put together');
  // API Extractor leaves out what one module adds to a type of another.
  appendFileSync(join(root, file), additions().join(''));
}

/** The parts that modules of the lock add to types of other modules, by `declare module`. */
function additions() {
  const files = readdirSync(join(root, 'src'), { recursive: true }).filter((file) => file.endsWith('.ts'));
  return files.sort().flatMap((file) => {
    const source = ts.createSourceFile(
      file,
      readFileSync(join(root, 'src', file), 'utf8'),
      ts.ScriptTarget.Latest,
      true,
    );
    const ours = source.statements.filter((each) => ts.isModuleDeclaration(each) && each.name.text.startsWith('.'));
    return ours.flatMap(({ body }) => body.statements.map((each) => `export declare ${each.getText()}\n`));
  });
}

export function quiet(message) {
  if (message.logLevel !== 'error') message.handled = true;
}
