import { withoutStack } from '../support/without-stack.js';
import type { Operation } from './operations.js';
import { ZooKeeperError } from './zookeeper-error.js';

/** A server's answer to a request. */
export interface Reply<T> {
  readonly value: T;
  /** The server's newest transaction when it answered. */
  readonly zxid: bigint;
  /** True if an overloaded server had put the request off: later requests may have been executed before it. */
  readonly wasPostponed: boolean;
}

/** The functions that settle the promise of a request. */
export interface Caller {
  resolve(reply: Reply<unknown>): void;
  reject(error: unknown): void;
}

/** A request and its caller. */
export interface Call {
  readonly operation: Operation<unknown>;
  readonly caller: Caller;
  /** How often an overloaded server has asked for the request again later. */
  timesPostponed?: number;
  /** The xid with which it was sent first. */
  firstXid?: number;
}

/** The header of a server's answer. */
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

/** The connection ended before the answer: nobody knows whether the request was executed. */
export function connectionLost({ name, path }: Operation<unknown>, cause: unknown): ZooKeeperError {
  return withoutStack(() => new ZooKeeperError(ZooKeeperError.connectionLoss, name, path, { cause }));
}
