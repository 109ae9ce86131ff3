/**
 * A server does not know a request, or not one of this length. Some servers say so, and others end each connection on
 * which they get the request, as a filter between the client and the server may do.
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
    how: 'does not know' | 'ends each connection on which it gets',
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
    return this.bytes > 0 ? marshallingError : unimplemented;
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

/** ZooKeeper's number of UNIMPLEMENTED. */
export const unimplemented = -6;
/** ZooKeeper's number of MARSHALLING_ERROR. */
export const marshallingError = -5;

/** The advice for a request that the servers do not know. */
export const neededServers =
  'ZooKeeper 3.5 or later is needed, without a filter between the client and the servers: `zklock check` names the versions';

const shorterRequests =
  'Servers do so at a request that is longer than their jute.maxbuffer: give less `data`, or raise jute.maxbuffer on all servers';
