import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './command.ts';
import { tarball } from './tarball.ts';

const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** Some tools are programs of 100 MB. */
const installLimitMs = 280_000;

/**
 * A project outside of this one that has installed the lock, together with Node's types, a strict compiler, and the
 * given `tools`, as a user would.
 */
export class Consumer implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'consumer-'));

  static async install(...tools: readonly string[]): Promise<Consumer> {
    const consumer = new Consumer();
    consumer.write('package.json', JSON.stringify({ private: true, type: 'module' }));
    try {
      await consumer.add(tarball(), '@types/node@20', ...tools);
    } catch (error) {
      consumer[Symbol.dispose]();
      throw error;
    }
    return consumer;
  }

  /** Installs more packages, or other versions of packages. */
  async add(...packages: readonly string[]): Promise<void> {
    const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
    await run('npm', ['install', ...options, ...packages], this.folder, installLimitMs);
  }

  write(file: string, content: string): string {
    const path = this.pathOf(file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  pathOf(file: string): string {
    return join(this.folder, file);
  }

  /**
   * Compiles `files`, and the declarations of every package that they import, with the compiler of this project or with
   * one of `tools`. Rejects with the compiler's errors.
   */
  async compile(files: readonly string[], options: object, compiler = tsc): Promise<void> {
    const strict = {
      target: 'es2022',
      lib: ['es2022'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
    };
    const config = this.write('tsconfig.json', JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
    await run(process.execPath, [compiler, '-p', config], this.folder);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
