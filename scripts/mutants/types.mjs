import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * The types of some files of a copy. A build that does not compile would break every run, which proves nothing. What has
 * not changed since the last question is not read again.
 */
export class Types {
  #folder;
  #service;

  constructor(folder, files) {
    this.#folder = folder;
    const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, folder);
    this.#service = ts.createLanguageService({
      ...ts.sys,
      useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
      getCompilationSettings: () => ({ ...options, noUnusedLocals: false, noUnusedParameters: false }),
      getCurrentDirectory: () => folder,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      getScriptFileNames: () => files.map((file) => join(folder, file)),
      getScriptVersion: (file) => String(statSync(file).mtimeMs),
      getScriptSnapshot: (file) => ts.ScriptSnapshot.fromString(readFileSync(file, 'utf8')),
    });
  }

  /** The errors in some of the files, but not in those that import them; '' if there are none. */
  errorsIn(files) {
    const service = this.#service;
    return files
      .map((file) => join(this.#folder, file))
      .flatMap((file) => [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)])
      .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
      .join('\n');
  }
}
