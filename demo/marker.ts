import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A witness that knows neither ZooKeeper nor clocks: a file which only one process at a time can create. Who finds it
 * there is not alone
 * inside the lock.
 */
export class Marker {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** False when somebody else is inside. */
  enter(): boolean {
    try {
      closeSync(openSync(this.#path, 'wx'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }

  /** Only for whom `enter` was true. */
  leave(): void {
    rmSync(this.#path, { force: true });
  }
}

/** A path for the marker, outside of the checkout. What is there goes with this process. */
export function markerPath(): string {
  const directory = mkdtempSync(join(tmpdir(), 'fair-lock-demo-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'inside');
}
