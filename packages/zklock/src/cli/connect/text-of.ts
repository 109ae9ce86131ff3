import { readFileSync, statSync } from 'node:fs';

/**
 * Reads a file that is read again at each connection. A FIFO has its text once, and without a writer it would block this
 * process with its signals and its lock.
 */
export function textOf(file: string): string {
  if (!statSync(file).isFile()) throw new Error('it is no regular file, so it cannot be read again');
  return readFileSync(file, 'utf8');
}
