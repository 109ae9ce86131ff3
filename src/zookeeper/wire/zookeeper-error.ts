import { printableLines } from '../../support/printable.js';

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

  constructor(number: number, operation: string, path: string, options?: { cause?: unknown }) {
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
    const wasNotSent = this.code === 'MARSHALLING_ERROR' && this.cause instanceof UnknownRequestError;
    return wasNotSent || this.code in definite;
  }

  /**
   * True if the connection or the session failed, and not the request. Try again on the next connection (Curator's
   * retryable errors).
   */
  get isRetryable(): boolean {
    return this.code in retryable;
  }

  /** The number of `CONNECTION_LOSS`: the client cannot know whether the request was executed. */
  static readonly connectionLoss = -4;
}

/** The server refused the request, so nothing was executed. */
const definite = {
  UNIMPLEMENTED: -6,
  BAD_ARGUMENTS: -8,
  OUT_OF_MEMORY: -10,
  API_ERROR: -100,
  NO_NODE: -101,
  NO_AUTH: -102,
  BAD_VERSION: -103,
  NO_CHILDREN_FOR_EPHEMERALS: -108,
  NODE_EXISTS: -110,
  NOT_EMPTY: -111,
  INVALID_ACL: -114,
  EPHEMERAL_ON_LOCAL_SESSION: -120,
  NO_WATCHER: -121,
  QUOTA_EXCEEDED: -125,
  THROTTLED_OP: -127,
} as const;

/** The connection or the session failed, and not the request (Curator's retryable errors). */
const retryable = {
  CONNECTION_LOSS: -4,
  OPERATION_TIMEOUT: -7,
  SESSION_EXPIRED: -112,
  SESSION_MOVED: -118,
  REQUEST_TIMEOUT: -122,
  SESSION_CLOSED_REQUIRE_SASL_AUTH: -124,
} as const;

/** The request may have been executed. */
const others = {
  SYSTEM_ERROR: -1,
  RUNTIME_INCONSISTENCY: -2,
  DATA_INCONSISTENCY: -3,
  MARSHALLING_ERROR: -5,
  NEW_CONFIG_NO_QUORUM: -13,
  RECONFIG_IN_PROGRESS: -14,
  INVALID_CALLBACK: -113,
  AUTH_FAILED: -115,
  NOT_READ_ONLY: -119,
  RECONFIG_DISABLED: -123,
} as const;

/** ZooKeeper's KeeperException.Code. */
export const errorNumbers = { ...definite, ...retryable, ...others } as const;

const names: Partial<Record<number, string>> = Object.fromEntries(
  Object.entries(errorNumbers).map(([name, number]) => [number, name]),
);

/** ZooKeeper's name of an error, or its number if this library does not know it. */
export function errorName(number: number): string {
  return names[number] ?? `error ${number}`;
}

/** As `isRetryable` of an error, for the number in an answer. */
export function isRetryableNumber(number: number): boolean {
  return (names[number] ?? '') in retryable;
}

/**
 * The server has not executed the request, and may do so later: it is overloaded, or, as ClickHouse Keeper says, at its
 * soft limit of memory.
 */
export function isPutOff(number: number): boolean {
  return number === errorNumbers.THROTTLED_OP || number === errorNumbers.OUT_OF_MEMORY;
}

/**
 * The server could not carry the request out, and the connection stays. ClickHouse Keeper answers so while it has no
 * leader, or if a commit takes too long. A proof is valid, so any other error than a refusal or one of the session means
 * the same.
 */
export function isUnable(number: number, isProof = false): boolean {
  if (unable.has(number)) return true;
  const name = names[number] ?? '';
  return isProof && number !== 0 && !(name in definite || name in retryable);
}

const unable: ReadonlySet<number> = new Set([
  errorNumbers.CONNECTION_LOSS,
  errorNumbers.OPERATION_TIMEOUT,
  errorNumbers.REQUEST_TIMEOUT,
]);

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

/**
 * A server does not know a request, or not one of this length. Some servers say so, some pass it over, and others end
 * each connection on which they get the request, as a filter between the client and the server may do.
 */
export class UnknownRequestError extends Error {
  /** `host:port` */
  readonly server: string;
  readonly operation: string;
  /** True if the server said so. A server may end connections for another reason, too. */
  readonly isSaid: boolean;
  /** The length of the request, if the server knows shorter ones; else 0. */
  readonly bytes: number;

  constructor(
    server: string,
    operation: string,
    how: 'does not know' | 'does not answer' | 'ends each connection on which it gets',
    bytes = 0,
  ) {
    super(`${server} ${how} the request ${operation}${bytes > 0 ? ` with ${bytes} bytes` : ''}`);
    this.server = server;
    this.operation = operation;
    this.isSaid = how === 'does not know';
    this.bytes = bytes;
  }

  /** ZooKeeper's number of the request's error, as if the server had said so. */
  get number(): number {
    return this.bytes > 0 ? errorNumbers.MARSHALLING_ERROR : errorNumbers.UNIMPLEMENTED;
  }

  /** The advice to the user. */
  get cure(): string {
    return this.bytes > 0 ? shorterRequests : neededServers;
  }
}

/** The UnknownRequestError that is the reason of an error, if there is one. */
export function unknownRequestIn(error: unknown): UnknownRequestError | undefined {
  let each = error;
  while (each instanceof Error && !(each instanceof UnknownRequestError)) each = each.cause;
  return each instanceof UnknownRequestError ? each : undefined;
}

/**
 * A longer change is suspected for its length: the servers' `jute.maxbuffer` may be low. Without data, the changes of
 * locks are shorter.
 */
export const longestUsual = 4_096;

/** The advice for a request that the servers do not know. */
export const neededServers =
  'ZooKeeper 3.5 or later is needed, without a filter between the client and the servers: `zklock check` names the versions';

const shorterRequests =
  'Servers do so at a request that is longer than their jute.maxbuffer: give less `data`, or raise jute.maxbuffer on all servers';
