import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installDebianPackages, isCommand } from '../../../lab/servers/debian-zookeeper.ts';
import { ensureCurator } from '../../../lab/programs/interop/curator.ts';
import type { Block } from './blocks.ts';

const exec = promisify(execFile);

/** Throws with the compiler's text where a block is not in the language that it claims. */
export async function checkSyntax(block: Block, folder: string): Promise<void> {
  switch (block.language) {
    case 'js':
    case 'javascript':
      await exec(process.execPath, ['--check', written(block, folder, 'mjs')]);
      break;
    case 'bash':
    case 'sh':
      await exec('bash', ['-n', written(block, folder, 'sh')]);
      break;
    case 'python':
      await exec('python3', ['-m', 'py_compile', written(block, folder, 'py')]);
      break;
  }
}

function written({ page, line, code }: Block, folder: string, ending: string): string {
  const file = join(folder, `${page.replaceAll(/\W/g, '_')}_${line}.${ending}`);
  writeFileSync(file, code);
  return file;
}

/** Compiles all Java blocks by one call, against Curator. Throws with the compiler's text. */
export async function checkJava(blocks: readonly Block[], folder: string): Promise<void> {
  const files = blocks.map((block) => {
    const name = `${block.page.replaceAll(/\W/g, '_')}_${block.line}`;
    mkdirSync(join(folder, name));
    const publicName = /\bpublic (?:final )?(?:class|interface|record) (\w+)/.exec(block.code)?.[1];
    const file = join(folder, name, `${publicName ?? 'Block'}.java`);
    writeFileSync(file, javaSource(name, block));
    return file;
  });
  if (!isCommand('javac')) await installDebianPackages(['default-jdk-headless']);
  await exec('javac', [
    '-proc:none',
    '-nowarn',
    '-d',
    join(folder, 'classes'),
    '-cp',
    (await ensureCurator()).join(':'),
    ...files,
  ]);
}

/** A fragment becomes the body of a method that has a `CuratorFramework client`. */
function javaSource(name: string, { code, before, after }: Block): string {
  if (/^\s*(?:public |final )*(?:class|interface|record|enum) /m.test(code)) return `package ${name};\n${code}`;
  const isImport = (line: string): boolean => /^\s*import .*;/.test(line);
  const lines = code.split('\n');
  return [
    `package ${name};`,
    ...packages.map((each) => `import ${each}.*;`),
    ...lines.filter(isImport),
    'class Block { void block(CuratorFramework client) throws Exception {',
    before,
    ...lines.filter((line) => !isImport(line)),
    after,
    '} }',
  ].join('\n');
}

const packages = [
  'java.util',
  'java.util.concurrent',
  'org.apache.curator.framework',
  'org.apache.curator.framework.recipes.locks',
  'org.apache.curator.framework.recipes.shared',
  'org.apache.curator.framework.state',
  'org.apache.curator.retry',
];
