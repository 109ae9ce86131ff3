import { LockError } from '../../support/lock-error.js';

/**
 * The znodes of this client's holds and waiters have so long paths together that the end of its session would be a
 * transaction that no server can read again. Servers that have written one do not start any more (ZOOKEEPER-4306).
 */
export class SessionFullError extends LockError {
  static {
    this.prototype.name = 'SessionFullError';
  }

  constructor(path: string, znodes: number, bytes: number) {
    super(
      'ERR_LOCK_SESSION_FULL',
      `The lock ${path} cannot be acquired: the ${znodes} znodes of this client have paths of ${bytes} bytes together, and servers that end a session with more than ${mostPathBytes} may not start again (ZOOKEEPER-4306). ` +
        'Release locks, begin fewer acquires at a time, use shorter paths in all clients at once, or divide the locks between several clients',
    );
  }
}

/**
 * The servers end a session by one transaction with the paths of its znodes. With their default settings, they read a
 * transaction of twice `jute.maxbuffer`, 2,097,150 bytes. The rest is for the ephemeral znodes of transactions.
 */
export const mostPathBytes = 2_000_000;
