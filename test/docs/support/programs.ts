import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { root, type Block } from './blocks.ts';
import { setupCode } from './setups.ts';

/** A block of TypeScript as a program. */
export interface Program {
  readonly block: Block;
  /** The compiled file. */
  readonly file: string;
  /** The compiler's complaints, each with its line of the page. */
  readonly problems: readonly string[];
}

/** The address in the pages. A program gets the address of its own server by the environment in its place. */
const shownAddress = /(['"])127\.0\.0\.1:2181((?:\/\w+)*)\1/g;

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
};

/** The package that some blocks use has no types of its own. */
const declarations = ['src/zookeeper/connection/node-zookeeper-client.d.ts', 'examples/node-zookeeper-client.d.ts'];

/**
 * Compiles all blocks at once, against the built package. A folder inside the repository is needed, because the
 * programs import the package by its own name.
 */
export function compile(blocks: readonly Block[], folder: string): Program[] {
  const sources = blocks.map((block, index) => ({ block, file: join(folder, `block-${index}.mts`) }));
  for (const { block, file } of sources) writeFileSync(file, sourceOf(block).text);
  const program = ts.createProgram(
    [...sources.map(({ file }) => file), ...declarations.map((file) => join(root, file))],
    options,
  );
  program.emit();
  return sources.map(({ block, file }) => {
    const source = program.getSourceFile(file);
    if (!source) throw new Error(`TypeScript does not know ${basename(file)}`);
    const diagnostics = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    return {
      block,
      file: file.replace(/\.mts$/, '.mjs'),
      problems: diagnostics.map((diagnostic) => problemText(block, diagnostic)),
    };
  });
}

/** A block with a setup gets the names of the package that it uses, and what it needs; one without is a whole program. */
function sourceOf(block: Block): { text: string; firstLine: number } {
  const where = `${block.page}:${block.line}`;
  const hidden = block.setup === undefined ? block.before : `${setupCode(where, block.setup)}\n${block.before}`;
  const imports = block.setup === undefined ? '' : importsOf(hidden, block);
  const head = `${imports}${hidden.trim()}\n`;
  const text = `${head}${block.code}\n${block.after}\nexport {};\n`;
  return {
    text: text.replaceAll(shownAddress, "(process.env['ZOOKEEPER_CONNECT'] + '$2')"),
    firstLine: head.split('\n').length,
  };
}

function importsOf(hidden: string, { code, after }: Block): string {
  const used = new Set(`${hidden}\n${code}\n${after}`.match(/\b[A-Za-z]\w*\b/g));
  const imported = new Set(
    [...code.matchAll(/^import ([^;]*) from/gm)].flatMap(([, names = '']) => names.match(/\w+/g)),
  );
  const lines = [
    ['zookeeper-fair-lock', exportsOf('src/index.ts')],
    ['@zookeeper-fair-lock/testing', exportsOf('packages/testing/src/index.ts')],
  ] as const;
  return lines
    .map(([name, all]) => [name, all.filter((each) => used.has(each) && !imported.has(each))] as const)
    .filter(([, names]) => names.length > 0)
    .map(([name, names]) => `import { ${names.join(', ')} } from '${name}';\n`)
    .join('');
}

function exportsOf(index: string): string[] {
  const lists = readFileSync(join(root, index), 'utf8').matchAll(/^export (?:type )?{([^}]*)}/gm);
  return [...lists].flatMap(([, list = '']) => list.replaceAll(/\btype\b/g, '').match(/\w+/g) ?? []);
}

function problemText(block: Block, { start, file, messageText }: ts.Diagnostic): string {
  const line = file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 1;
  const { firstLine } = sourceOf(block);
  return `${block.page}:${block.line + line - firstLine}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
}
