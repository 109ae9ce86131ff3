/**
 * Ends the handling of a request with an error code. There is one object per code, because a stack trace for each
 * refused request would cost more than the request.
 */
export class Refusal extends Error {
  readonly number: number;

  private constructor(name: ErrorName) {
    super(name);
    this.name = 'Refusal';
    this.number = errorNumbers[name];
  }

  static of(name: ErrorName): Refusal {
    const refusal = made.get(name) ?? new Refusal(name);
    made.set(name, refusal);
    return refusal;
  }
}

/** ZooKeeper's numbers for the errors that a server answers with. */
export const errorNumbers = {
  RUNTIME_INCONSISTENCY: -2,
  CONNECTION_LOSS: -4,
  MARSHALLING_ERROR: -5,
  UNIMPLEMENTED: -6,
  OPERATION_TIMEOUT: -7,
  BAD_ARGUMENTS: -8,
  NO_NODE: -101,
  NO_AUTH: -102,
  BAD_VERSION: -103,
  NO_CHILDREN_FOR_EPHEMERALS: -108,
  NODE_EXISTS: -110,
  NOT_EMPTY: -111,
  SESSION_EXPIRED: -112,
  INVALID_ACL: -114,
  AUTH_FAILED: -115,
  SESSION_MOVED: -118,
  NO_WATCHER: -121,
  RECONFIG_DISABLED: -123,
  SESSION_CLOSED_REQUIRE_SASL_AUTH: -124,
  QUOTA_EXCEEDED: -125,
  THROTTLED_OP: -127,
} as const satisfies Record<ErrorName, number>;

/** The names of ZooKeeper's errors, as in ZooKeeperError. */
export type ErrorName =
  | 'RUNTIME_INCONSISTENCY'
  | 'CONNECTION_LOSS'
  | 'MARSHALLING_ERROR'
  | 'UNIMPLEMENTED'
  | 'OPERATION_TIMEOUT'
  | 'BAD_ARGUMENTS'
  | 'NO_NODE'
  | 'NO_AUTH'
  | 'BAD_VERSION'
  | 'NO_CHILDREN_FOR_EPHEMERALS'
  | 'NODE_EXISTS'
  | 'NOT_EMPTY'
  | 'SESSION_EXPIRED'
  | 'INVALID_ACL'
  | 'AUTH_FAILED'
  | 'SESSION_MOVED'
  | 'NO_WATCHER'
  | 'RECONFIG_DISABLED'
  | 'SESSION_CLOSED_REQUIRE_SASL_AUTH'
  | 'QUOTA_EXCEEDED'
  | 'THROTTLED_OP';

const made = new Map<ErrorName, Refusal>();
