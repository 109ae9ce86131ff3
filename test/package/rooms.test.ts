import { expect } from 'chai';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const src = join(root, 'src');
const index = join(src, 'index.ts');
const declarations = join(src, 'zookeeper/connection/node-zookeeper-client.d.ts');
const features = ['semaphore', 'multi-lock', 'election', 'revocation', 'observe', 'sticky', 'weighted', 'read-write'];

/** Without the folders of these features, and without their lines in index.ts. */
function without(rooms: readonly string[]): ts.Program {
  const isDeleted = (file: string): boolean => rooms.some((room) => file.startsWith(`${join(src, room)}/`));
  return ts.createProgram([index, declarations], options, {
    ...host,
    fileExists: (file) => !isDeleted(file) && host.fileExists(file),
    getSourceFile: (file, version) => (file === index ? indexWithout(rooms) : sourceOf(file, version)),
  });
}

function indexWithout(rooms: readonly string[]): ts.SourceFile {
  const { statements, text } = sourceOf(index, language) as ts.SourceFile;
  const left = statements.filter((statement) => {
    const from = (statement as ts.ExportDeclaration | ts.ImportDeclaration).moduleSpecifier as ts.StringLiteral;
    return !rooms.some((room) => from.text.startsWith(`./${room}/`));
  });
  const texts = left.map((statement) => text.slice(statement.getFullStart(), statement.getEnd()));
  return ts.createSourceFile(index, texts.join(''), language, true);
}

const options = {
  ...ts.parseJsonConfigFileContent(ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config, ts.sys, root)
    .options,
  noEmit: true,
};
const language = {
  languageVersion: options.target ?? ts.ScriptTarget.ESNext,
  impliedNodeFormat: ts.ModuleKind.ESNext,
} as const;
const host = ts.createCompilerHost(options, true);
// Each file is parsed once for all programs.
const sources = new Map<string, ts.SourceFile | undefined>();

function sourceOf(file: string, version: ts.ScriptTarget | ts.CreateSourceFileOptions): ts.SourceFile | undefined {
  if (!sources.has(file)) sources.set(file, host.getSourceFile(file, version));
  return sources.get(file);
}

function errorsIn(program: ts.Program, files: readonly ts.SourceFile[]): string[] {
  return files
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
    .map(
      (each) => `${each.file?.fileName.slice(root.length)}: ${ts.flattenDiagnosticMessageText(each.messageText, ' ')}`,
    );
}

describe('src', () => {
  it('compiles without the folders of all features', () => {
    const program = without(features);
    const files = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(src));
    expect(files).to.have.length.above(100);
    expect(errorsIn(program, files)).to.deep.equal([]);
  }).timeout(300_000);

  // The other files need no feature at all, as the test above shows.
  for (const feature of features)
    it(`compiles without the folder ${feature}`, () => {
      const program = without([feature]);
      const others = features.map((room) => `${join(src, room)}/`);
      const files = program
        .getSourceFiles()
        .filter(({ fileName }) => fileName === index || others.some((room) => fileName.startsWith(room)));
      expect(files.map(({ fileName }) => fileName)).to.include(index);
      expect(files).to.have.length.above(10);
      expect(errorsIn(program, files)).to.deep.equal([]);
    }).timeout(300_000);
});
