import { LockError } from '../support/lock-error.js';

/**
 * More leases of a semaphore than `maxLeases` have stayed on the servers for two session timeouts: other clients of its
 * path use a larger `maxLeases`.
 */
export class LimitMismatchError extends LockError {
  /** The semaphore's path. */
  readonly path: string;
  /** The limit that this client uses. */
  readonly maxLeases: number;

  static {
    this.prototype.name = 'LimitMismatchError';
  }

  constructor(path: string, maxLeases: number, stayed: number, stayedMs: number) {
    super(
      'ERR_LOCK_LIMIT_MISMATCH',
      `The semaphore ${path} has { maxLeases: ${maxLeases} } in this client, but ${stayed} znodes have stayed below ${path}/leases, before the waiter's znode, for ${stayedMs} ms. ` +
        'Use the same maxLeases in all clients of this path. If it is the same, a client left a znode there: delete it, or wait until its session ends',
    );
    this.path = path;
    this.maxLeases = maxLeases;
  }
}
