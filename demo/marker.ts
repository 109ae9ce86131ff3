import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A check that uses neither ZooKeeper nor clocks: a file that only one process at a time can create. A job that finds
 * the file is not alone inside the lock.
 */
export class Marker {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Returns false if another job is inside. */
  enter(): boolean {
    try {
      closeSync(openSync(this.#path, 'wx'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }

  /** Call it only if `enter` returned true. */
  leave(): void {
    rmSync(this.#path, { force: true });
  }
}

/** A path for the marker, outside of the checkout. The file there is deleted when this process ends. */
export function markerPath(): string {
  const directory = mkdtempSync(join(tmpdir(), 'fair-lock-demo-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'inside');
}
