import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './command.ts';
import { tarball } from './tarball.ts';

const tsc = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url));

/** A project outside of this one that has installed the package, with what else users have: Node's types, and a strict compiler. */
export class Consumer implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'consumer-'));

  static async install(): Promise<Consumer> {
    const consumer = new Consumer();
    consumer.write('package.json', JSON.stringify({ private: true, type: 'module' }));
    try {
      await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', tarball(), '@types/node@20'], consumer.folder);
    } catch (error) {
      consumer[Symbol.dispose]();
      throw error;
    }
    return consumer;
  }

  write(file: string, content: string): string {
    const path = join(this.folder, file);
    writeFileSync(path, content);
    return path;
  }

  /** Compiles `files`, and the declarations of every package they import. Rejects with the compiler's errors. */
  async compile(files: readonly string[], options: object): Promise<void> {
    const strict = { target: 'es2022', lib: ['es2022'], types: ['node'], strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
    const config = this.write('tsconfig.json', JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
    await run(process.execPath, [tsc, '-p', config], this.folder);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
