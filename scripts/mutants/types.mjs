import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

/**
 * The types of some files of a copy. A build that does not compile would break every run, which proves nothing. What has
 * not changed since the last question is not read again.
 */
export class Types {
  #files;
  #service;

  constructor(folder, files) {
    this.#files = files.map((file) => join(folder, file));
    const { config } = ts.readConfigFile(join(folder, 'tsconfig.json'), ts.sys.readFile);
    const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, folder);
    this.#service = ts.createLanguageService({
      ...ts.sys,
      useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
      getCompilationSettings: () => ({ ...options, noUnusedLocals: false, noUnusedParameters: false }),
      getCurrentDirectory: () => folder,
      getDefaultLibFileName: ts.getDefaultLibFilePath,
      getScriptFileNames: () => this.#files,
      getScriptVersion: (file) => String(statSync(file).mtimeMs),
      getScriptSnapshot: (file) => ts.ScriptSnapshot.fromString(readFileSync(file, 'utf8')),
    });
  }

  /** The errors in the files; '' if there are none. */
  errors() {
    const service = this.#service;
    return this.#files
      .flatMap((file) => [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)])
      .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
      .join('\n');
  }
}
