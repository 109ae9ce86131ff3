import { LockError } from '../../support/lock-error.js';
import { shown } from '../../support/validate.js';

/** The path is invalid for ZooKeeper or for this library. */
export class InvalidPathError extends LockError {
  static {
    this.prototype.name = 'InvalidPathError';
  }

  constructor(path: unknown, why: string) {
    super(
      'ERR_LOCK_INVALID_PATH',
      `Invalid path ${shown(typeof path === 'string' ? path.slice(0, 200) : path)}: ${why}`,
    );
  }
}
