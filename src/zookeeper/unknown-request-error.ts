import { ZooKeeperError } from './zookeeper-error.js';

/**
 * A server does not know a request. Some servers say so, and others end each connection on which they get the request,
 * as a filter between the client and the server may do.
 */
export class UnknownRequestError extends Error {
  /** `host:port` */
  readonly server: string;
  readonly operation: string;
  /** True if the server said so. A server may end connections for another reason, too. */
  readonly isSaid: boolean;

  constructor(server: string, operation: string, how: 'does not know' | 'ends each connection on which it gets') {
    super(`${server} ${how} the request ${operation}`);
    this.server = server;
    this.operation = operation;
    this.isSaid = how === 'does not know';
  }

  /** The error of the request, as if the server had said so. */
  asAnswer(path: string): ZooKeeperError {
    return new ZooKeeperError(unimplemented, this.operation, path, { cause: this });
  }
}

/** The UnknownRequestError that is the reason of an error, if there is one. */
export function unknownRequestIn(error: unknown): UnknownRequestError | undefined {
  let each = error;
  while (each instanceof Error && !(each instanceof UnknownRequestError)) each = each.cause;
  return each instanceof UnknownRequestError ? each : undefined;
}

/** ZooKeeper's number of UNIMPLEMENTED. */
export const unimplemented = -6;

/** The advice for every UnknownRequestError. */
export const neededServers = 'ZooKeeper 3.5 or later is needed, without a filter between the client and the servers';
