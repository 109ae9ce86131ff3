import { printableJson } from '../support/printable.js';
import { LockError } from '../support/lock-error.js';

/** The path is invalid for ZooKeeper or for this library. */
export class InvalidPathError extends LockError {
  static {
    this.prototype.name = 'InvalidPathError';
  }

  constructor(path: unknown, why: string) {
    super(
      'ERR_LOCK_INVALID_PATH',
      `Invalid path ${typeof path === 'string' ? printableJson(path.slice(0, 200)) : typeof path}: ${why}`,
    );
  }
}
