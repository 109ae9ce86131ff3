import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A grant of which somebody wrote down the token, and in whose code it was. */
export interface Entry {
  readonly token: bigint;
  readonly by: string;
}

/** Files that every peer works on, and that nothing but the lock under test protects. */
export class Ledger implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'interop-'));

  constructor() {
    writeFileSync(join(this.folder, 'count'), '0');
    mkdirSync(join(this.folder, 'inside'));
  }

  /** How many have counted, unless two of them were in there at the same time. */
  get count(): number {
    return Number(readFileSync(join(this.folder, 'count'), 'utf8'));
  }

  /** Counts, as a peer does. */
  async add(token: bigint): Promise<void> {
    const before = this.count;
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(this.folder, 'count'), String(before + 1));
    appendFileSync(join(this.folder, 'grants'), `${token} here\n`);
  }

  /** Who was in there, one after another. */
  get grants(): Entry[] {
    return this.#lines('grants').map(([token = '', by = '']) => ({ token: BigInt(token), by }));
  }

  /** How many each of them saw inside, itself included, and in whose code. */
  get crowds(): { readonly inside: number; readonly by: string }[] {
    return this.#lines('crowds').map(([inside, by = '']) => ({ inside: Number(inside), by }));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }

  #lines(file: string): string[][] {
    return readFileSync(join(this.folder, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
  }
}
