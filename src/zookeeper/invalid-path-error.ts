import { LockError } from '../support/lock-error.js';

/** The path is invalid for ZooKeeper or for this library. */
export class InvalidPathError extends LockError {
  static {
    this.prototype.name = 'InvalidPathError';
  }

  constructor(path: unknown, why: string) {
    super(
      'ERR_LOCK_INVALID_PATH',
      `Invalid path ${typeof path === 'string' ? JSON.stringify(path.slice(0, 200)) : typeof path}: ${why}`,
    );
  }
}
