import { printableLines } from './printable.js';
import { jsonOf, jsonOfValue } from './shown.js';

/**
 * The parent class of every error of this library. `code` is stable, `message` is for the reader of the log, and
 * `cause` is the ZooKeeper error or socket error that caused it.
 *
 * @example
 * if (error instanceof LockError && error.code === 'ERR_LOCK_TIMEOUT') return retryLater();
 */
export class LockError extends Error {
  /** The kind of the error, for programs. It stays the same when the message is reworded. */
  readonly code: LockErrorCode;

  constructor(code: LockErrorCode, message: string, options?: { cause?: unknown }) {
    super(printableLines(message), options);
    this.code = code;
    Object.defineProperty(this, brand, { value: true });
  }

  /** The section of the documentation about this error: its causes, and what to do. */
  get docsUrl(): string {
    return `${errorsPage}#${this.docsSection}`;
  }

  /** @internal The anchor on that page. */
  protected get docsSection(): string {
    return this.code.toLowerCase();
  }

  /**
   * The form for `JSON.stringify`: the name, the code, the message, the error's other fields, and the name and message
   * of its cause.
   */
  toJSON(): object {
    const { name, code, message, cause, ...others } = this as LockError & { cause?: unknown };
    return { name, code, message, ...jsonOf(others), ...(cause === undefined ? {} : { cause: jsonOfValue(cause) }) };
  }

  static {
    this.prototype.name = 'LockError';
  }

  /**
   * True also for errors of another copy of this package. They are recognized by a brand instead of the prototype
   * chain.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== LockError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && brand in value;
  }
}

/** The stable codes of every error that this library throws or rejects with. */
export type LockErrorCode =
  | 'ERR_LOCK_TIMEOUT'
  | 'ERR_LOCK_LOST'
  | 'ERR_LOCK_NOT_OWNED'
  | 'ERR_LOCK_CLIENT_CLOSED'
  | 'ERR_LOCK_SESSION_EXPIRED'
  | 'ERR_LOCK_CONNECTION_TIMEOUT'
  | 'ERR_LOCK_INVALID_PATH'
  | 'ERR_LOCK_FOREIGN_NODE'
  | 'ERR_LOCK_FOREIGN_DATA'
  | 'ERR_LOCK_DEADLOCK'
  | 'ERR_LOCK_SEQUENCE_OVERFLOW'
  | 'ERR_LOCK_SESSION_FULL'
  | 'ERR_LOCK_REQUEST_FAILED'
  | 'ERR_LOCK_OUTCOME_UNKNOWN'
  | 'ERR_LOCK_AUTH_FAILED'
  | 'ERR_LOCK_TLS';

/** The organisation is a placeholder; a test keeps it equal to the `repository` of package.json. */
const errorsPage = 'https://github.com/zookeeper-fair-lock/zookeeper-fair-lock/blob/main/docs/errors.md';

const brand = Symbol.for('zookeeper-fair-lock/error');
