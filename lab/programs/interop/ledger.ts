import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Peer } from './peer.ts';

/** A recorded grant: its token, and the kind of its peer. */
export interface Entry {
  readonly token: bigint;
  readonly by: string;
}

/** The files on which every peer works, and which only the lock under test protects. */
export class Ledger implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'interop-'));

  constructor() {
    writeFileSync(join(this.folder, 'count'), '0');
    mkdirSync(join(this.folder, 'inside'));
  }

  /** The number of increments. It is lower if two peers were inside at the same time. */
  get count(): number {
    return Number(readFileSync(join(this.folder, 'count'), 'utf8'));
  }

  /** Increments the count, as a peer does. */
  async add(token: bigint): Promise<void> {
    const before = this.count;
    await new Promise((resolve) => setImmediate(resolve));
    writeFileSync(join(this.folder, 'count'), String(before + 1));
    appendFileSync(join(this.folder, 'grants'), `${token} here\n`);
  }

  /** Lets so many owners of each peer take the lock in turn, each so often. Resolves with the number of grants. */
  async fill(
    peers: readonly (readonly [peer: Peer, kind: string])[],
    path: string,
    { owners, rounds }: { readonly owners: number; readonly rounds: number },
  ): Promise<number> {
    const numbers = Array.from({ length: owners }, (_, index) => index + 1);
    await Promise.all(
      peers.flatMap(([peer, kind]) =>
        numbers.map((number) => peer.owner(`counter-${number}`).work(kind, path, this.folder, rounds)),
      ),
    );
    return peers.length * owners * rounds;
  }

  /** The grants, in order. */
  get grants(): Entry[] {
    return this.#lines('grants').map(([token = '', by = '']) => ({ token: BigInt(token), by }));
  }

  /** The number of owners that each owner saw inside, itself included, and the kind of its peer. */
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
