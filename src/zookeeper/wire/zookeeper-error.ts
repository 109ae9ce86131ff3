import { printableLines } from '../../support/printable.js';
import { marshallingError, UnknownRequestError } from './unknown-request-error.js';

/**
 * The error code of a ZooKeeper server's answer, or `CONNECTION_LOSS` if the connection ended before the answer. It is
 * the `cause` of the errors that this library rejects with.
 *
 * @example
 * if (error instanceof LockError && error.cause instanceof ZooKeeperError && error.cause.is('NO_AUTH')) askForAccess();
 */
export class ZooKeeperError extends Error {
  /** ZooKeeper's number of the error, such as -101. */
  readonly number: number;
  /** ZooKeeper's name of the error, such as `NO_NODE`; `UNKNOWN` for numbers that this library does not know. */
  readonly code: string;
  /** The request that failed, such as `create2`. */
  readonly operation: string;
  /** The znode's path as the servers know it, with the chroot. */
  readonly path: string;

  static {
    this.prototype.name = 'ZooKeeperError';
  }

  constructor(number: number, operation: string, path: string, options?: ErrorOptions) {
    const code = names[number] ?? 'UNKNOWN';
    super(printableLines(`${code} (${number}) from ${operation} ${path}`), options);
    this.number = number;
    this.code = code;
    this.operation = operation;
    this.path = path;
  }

  /** True if `code` is the code of this error. The parameter's type lets the compiler find a typo. */
  is(
    code:
      | 'NO_NODE'
      | 'BAD_VERSION'
      | 'NODE_EXISTS'
      | 'NO_AUTH'
      | 'INVALID_ACL'
      | 'EPHEMERAL_ON_LOCAL_SESSION'
      | 'UNIMPLEMENTED'
      | 'CONNECTION_LOSS'
      | 'NO_CHILDREN_FOR_EPHEMERALS'
      | 'SESSION_CLOSED_REQUIRE_SASL_AUTH',
  ): boolean {
    return this.code === code;
  }

  /**
   * True if the server refused the request, or the request was not sent, so nothing was executed. After any other error
   * the request may have been executed: check before you repeat it.
   */
  get isDefinite(): boolean {
    const wasNotSent = this.number === marshallingError && this.cause instanceof UnknownRequestError;
    return wasNotSent || definite.has(this.number);
  }

  /**
   * True if the connection or the session failed, and not the request. Try again on the next connection (Curator's
   * retryable errors).
   */
  get isRetryable(): boolean {
    return isRetryableNumber(this.number);
  }

  /** The number of `CONNECTION_LOSS`: the client cannot know whether the request was executed. */
  static readonly connectionLoss = -4;
}

const names: Record<number, string> = {
  [-1]: 'SYSTEM_ERROR',
  [-2]: 'RUNTIME_INCONSISTENCY',
  [-3]: 'DATA_INCONSISTENCY',
  [-4]: 'CONNECTION_LOSS',
  [-5]: 'MARSHALLING_ERROR',
  [-6]: 'UNIMPLEMENTED',
  [-7]: 'OPERATION_TIMEOUT',
  [-8]: 'BAD_ARGUMENTS',
  [-13]: 'NEW_CONFIG_NO_QUORUM',
  [-14]: 'RECONFIG_IN_PROGRESS',
  [-100]: 'API_ERROR',
  [-101]: 'NO_NODE',
  [-102]: 'NO_AUTH',
  [-103]: 'BAD_VERSION',
  [-108]: 'NO_CHILDREN_FOR_EPHEMERALS',
  [-110]: 'NODE_EXISTS',
  [-111]: 'NOT_EMPTY',
  [-112]: 'SESSION_EXPIRED',
  [-113]: 'INVALID_CALLBACK',
  [-114]: 'INVALID_ACL',
  [-115]: 'AUTH_FAILED',
  [-118]: 'SESSION_MOVED',
  [-119]: 'NOT_READ_ONLY',
  [-120]: 'EPHEMERAL_ON_LOCAL_SESSION',
  [-121]: 'NO_WATCHER',
  [-122]: 'REQUEST_TIMEOUT',
  [-123]: 'RECONFIG_DISABLED',
  [-124]: 'SESSION_CLOSED_REQUIRE_SASL_AUTH',
  [-125]: 'QUOTA_EXCEEDED',
  [-127]: 'THROTTLED_OP',
};

const definite = new Set([-6, -8, -100, -101, -102, -103, -108, -110, -111, -114, -120, -121, -125, -127]);

const retryable = new Set([-4, -7, -112, -118, -122, -124]);

/** As `isRetryable` of an error, for the number in an answer. */
export function isRetryableNumber(number: number): boolean {
  return retryable.has(number);
}

/** For `catch`: replaces the error NO_NODE by a value. */
export function whenNoNode<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isZooKeeperError(error, 'NO_NODE')) return value;
    throw error;
  };
}

/**
 * True if the connection or the session failed, and not the request. The client cannot know whether the request was
 * executed.
 */
export function isRetryable(error: unknown): error is ZooKeeperError {
  return error instanceof ZooKeeperError && error.isRetryable;
}

export function isZooKeeperError(
  error: unknown,
  ...codes: Parameters<ZooKeeperError['is']>[0][]
): error is ZooKeeperError {
  return error instanceof ZooKeeperError && (codes.length === 0 || codes.some((code) => error.is(code)));
}
