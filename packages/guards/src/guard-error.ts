/**
 * An error of a guard. `error instanceof LockError` is true for it, because the lock recognizes its errors by a brand.
 * Nothing of the transaction is in the store, unless `code` is `ERR_LOCK_OUTCOME_UNKNOWN`, or the job has ended the
 * transaction itself.
 */
export class GuardError extends Error {
  /** The kind of the error, for programs. It stays the same when the message is reworded. */
  readonly code: GuardErrorCode;

  constructor(code: GuardErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** The section of the documentation about this error. */
  get docsUrl(): string {
    return 'https://github.com/zookeeper-fair-lock/zookeeper-fair-lock/blob/main/docs/guards.md#errors-of-fenced';
  }

  /** The form for `JSON.stringify`. Tokens are text, because JSON has no bigint. */
  toJSON(): object {
    const { name, code, message, cause } = this;
    const tokens = Object.entries(this).filter(([, value]) => typeof value === 'bigint');
    const shown = Object.fromEntries(tokens.map(([key, value]) => [key, String(value)]));
    return { name, code, message, ...shown, ...(cause instanceof Error ? { cause: cause.message } : {}) };
  }

  static {
    this.prototype.name = 'GuardError';
    Object.defineProperty(this.prototype, Symbol.for('zookeeper-fair-lock/error'), { value: true });
  }
}

/** The message for a job that did what only `fenced` may do. */
export const endedByJob =
  'The guarded transaction had ended before its commit: the job has sent a begin, a commit or a rollback itself, or went on after an error that ends transactions. ' +
  'What it had written before may be in the store. What it wrote after that was not guarded, and is in the store unless it began another transaction. Let fenced commit';

/** The messages for a job that goes on after its transaction of MySQL has ended. */
export const rolledBack =
  'The server has rolled the transaction back, because one of its statements had failed. Let the job throw that error';
export const runsOn =
  'The library gave up a statement that runs on, and may still end the transaction. Let the job throw that error';
export const destroyedByJob =
  'The server rolls the transaction back, because the job has destroyed the connection. Let the job throw an error instead';

/** The message for a job whose connection was lost before its commit was sent. */
export const connectionLost =
  'The connection was lost before the commit was sent, so the store rolls the transaction back: see the cause';

/** The message for a statement that is sent after the job has settled. */
export const afterTheEnd =
  'The guarded transaction has ended, so the statement was not sent: the job had failed, or did not wait for it. Let the job wait for all of its statements';

/**
 * The error of a call that a job must leave out: another transaction would take the connection before this one is
 * committed. The cause is the error of a statement, which a `finally` of the job would hide, and which may be retryable.
 */
export function refusal(call: string, failed: { cause?: unknown } | undefined): TypeError {
  return new TypeError(
    `Expected the job to leave \`tx.${call}()\` out: \`fenced\` ends the transaction, and releases the connection after that`,
    failed,
  );
}

/** A later holder of the lock has written. Nothing of the transaction is in the store. */
export class StaleTokenError extends GuardError {
  /** The guard's key: the path of the lock, unless the option `key` says otherwise. */
  readonly key: string;
  /** The fencing token of the hold that came too late. */
  readonly fencingToken: bigint;
  /** The grant number of that hold. */
  readonly grantNumber: bigint;
  /** The fencing token of the later holder, from the store. */
  readonly storedToken: bigint;
  /** The grant number of the later holder, from the store. */
  readonly storedGrant: bigint;

  constructor({ key, token, grant }: Claim, stored: StoredClaim) {
    super(
      'ERR_LOCK_STALE_TOKEN',
      `A later holder of ${key} has written: the store has token ${stored.token} (grant ${stored.grant}), ` +
        `and this hold has token ${token} (grant ${grant}). Nothing of the transaction was stored`,
    );
    this.key = key;
    this.fencingToken = token;
    this.grantNumber = grant;
    this.storedToken = stored.token;
    this.storedGrant = stored.grant;
  }

  static {
    this.prototype.name = 'StaleTokenError';
  }
}

/** The kinds of a `GuardError`: docs/guards.md has a row for each. */
export type GuardErrorCode = 'ERR_LOCK_STALE_TOKEN' | 'ERR_LOCK_GUARD_FAILED' | 'ERR_LOCK_OUTCOME_UNKNOWN';

/** The tokens that a hold writes into the guard's row. */
export interface Claim extends StoredClaim {
  readonly key: string;
}

export interface StoredClaim {
  readonly token: bigint;
  readonly grant: bigint;
}
