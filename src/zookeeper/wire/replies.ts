import type { Operation } from './operations.js';
import type { Writer } from './wire.js';
import { errorNumbers, ZooKeeperError } from './zookeeper-error.js';

/** A server's answer to a request. */
export interface Reply<T> {
  readonly value: T;
  /** The server's newest transaction when it answered. */
  readonly zxid: bigint;
  /** True if an overloaded server had put the request off: later requests may have been executed before it. */
  readonly wasPostponed: boolean;
}

/** A request and its caller. One object, because there are thousands in a second. */
export class Call {
  readonly operation: Operation<unknown>;
  readonly resolve: (reply: Reply<unknown>) => void;
  readonly reject: (error: unknown) => void;
  xid = 0;
  /** The time when it was sent last. The time of its proof starts here. */
  sentAt = 0;
  /** The xid with which it was sent first. */
  firstXid: number | undefined = undefined;
  /** The length of its frame if the request is a change, whose length its caller chooses; else 0. */
  bytes = 0;
  /** How often an overloaded server has asked for the request again later. */
  timesPostponed = 0;

  constructor(operation: Operation<unknown>, resolve: Call['resolve'], reject: Call['reject']) {
    this.operation = operation;
    this.resolve = resolve;
    this.reject = reject;
  }

  write(to: Writer): void {
    this.operation.write(to.int(this.xid).int(this.operation.opcode));
  }
}

export interface ReplyHeader {
  readonly xid: number;
  readonly zxid: bigint;
  readonly error: number;
}

/** The place of an answer's record in its frame, behind the length and the header. */
export const replyBodyAt = 4 + 16;

export function readReplyHeader(frame: Buffer): ReplyHeader {
  if (frame.length < replyBodyAt)
    throw new RangeError(`A frame of ${frame.length - 4} bytes is too short for an answer`);
  return { xid: frame.readInt32BE(4), zxid: frame.readBigInt64BE(8), error: frame.readInt32BE(16) };
}

/** The error of a request, by ZooKeeper's number. */
export function errorOf({ name, path }: Operation<unknown>, number: number, cause?: unknown): ZooKeeperError {
  return withoutStack(() => new ZooKeeperError(number, name, path, { cause }));
}

/** The connection ended before the answer: nobody knows whether the request was executed. */
export function connectionLost(operation: Operation<unknown>, cause: unknown): ZooKeeperError {
  return errorOf(operation, errorNumbers.CONNECTION_LOSS, cause);
}

/**
 * Makes an error without a stack. For the errors of the servers' answers: their stack would show only how the answer
 * arrived, and twenty thousand stacks in a burst keep the garbage collector busy for seconds.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  try {
    Error.stackTraceLimit = 0;
  } catch {
    return make(); // An application may have frozen the class.
  }
  try {
    return make();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
