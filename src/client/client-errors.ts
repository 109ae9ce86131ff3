import { LockError } from '../support/lock-error.js';

/** No server answered within `connectionTimeoutMs`. `cause` is the last socket error, if there was one. */
export class ConnectionTimeoutError extends LockError {
  static {
    this.prototype.name = 'ConnectionTimeoutError';
  }

  constructor(hosts: string, timeoutMs: number, cause: unknown) {
    const last = cause === undefined ? 'none of them answered' : socketErrorText(cause);
    super('ERR_LOCK_CONNECTION_TIMEOUT', `No ZooKeeper server of ${hosts} answered within ${timeoutMs} ms; last: ${last}`, { cause });
  }
}

/** The servers refused the credentials. */
export class AuthFailedError extends LockError {
  static {
    this.prototype.name = 'AuthFailedError';
  }

  constructor(hosts: string) {
    super('ERR_LOCK_AUTH_FAILED', `The servers ${hosts} refused the credentials`);
  }
}

/** The client was closed, before the call or during it. */
export class ClientClosedError extends LockError {
  static {
    this.prototype.name = 'ClientClosedError';
  }

  constructor(what: string) {
    super('ERR_LOCK_CLIENT_CLOSED', `The client is closed: ${what}`);
  }
}

/** The cause of a LockLostError: which session it was that ended, on the server's word or at its deadline. */
export class SessionExpiredError extends LockError {
  static {
    this.prototype.name = 'SessionExpiredError';
  }

  constructor(sessionId: string) {
    super('ERR_LOCK_SESSION_EXPIRED', `The ZooKeeper session ${sessionId} has ended, or may have`);
  }
}

/** A name with several addresses fails with an AggregateError, whose own message is empty. */
function socketErrorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(socketErrorText).join('; ');
  return error instanceof Error ? error.message : String(error);
}
