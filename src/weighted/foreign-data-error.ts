import { LockError } from '../support/lock-error.js';

/**
 * The znode of a weighted lock says what no weighted lock has written there, or what it said was erased while others
 * are there: nobody can say who
 * holds the lock. Nothing was overwritten.
 */
export class ForeignDataError extends LockError {
  static {
    this.prototype.name = 'ForeignDataError';
  }

  constructor(path: string, data: Uint8Array) {
    const found = data.length === 0 ? 'nothing any more' : JSON.stringify(Buffer.from(data).toString().slice(0, 100));
    super(
      'ERR_LOCK_FOREIGN_DATA',
      `The znode of the lock ${path} says who holds it when the lock has weights, but it says ${found}. ` +
        'Use another path, or delete the znode while nobody uses it',
    );
  }
}
