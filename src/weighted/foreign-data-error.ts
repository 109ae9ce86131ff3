import { printableJson } from '../support/printable.js';
import { LockError } from '../support/lock-error.js';

/**
 * The znode of a weighted lock has data that no weighted lock wrote, or its data were erased while other participants
 * exist. The holder is then unknown. Nothing was overwritten.
 */
export class ForeignDataError extends LockError {
  static {
    this.prototype.name = 'ForeignDataError';
  }

  constructor(path: string, data: Uint8Array) {
    const found =
      data.length === 0 ? 'are empty now' : `are ${printableJson(Buffer.from(data).toString().slice(0, 100))}`;
    super(
      'ERR_LOCK_FOREIGN_DATA',
      `The data of the znode ${path} name the holder of a lock with weights, but they ${found}. ` +
        'Use another path, in all clients at once, or delete the znode while no client uses it',
    );
  }
}
