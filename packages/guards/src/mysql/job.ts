import type { PoolConnection } from 'mysql2/promise';
import {
  afterTheEnd,
  connectionLost,
  destroyedByJob,
  GuardError,
  refusal,
  rolledBack,
  runsOn,
} from '../guard-error.js';
import { codeOf } from '../sql.js';

/**
 * The job's view of the connection. After an error with which the server has rolled the transaction back, it sends no
 * more statements, because the server would commit each of them at once, and without the guard. So each statement
 * waits for the answer to the one before: the library waits, too, but would send it whatever the answer is.
 */
export class JobConnection {
  readonly tx: PoolConnection;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #failed: ErrorOptions | undefined;
  #end: Error | undefined;

  constructor(connection: PoolConnection) {
    const refuse = (call: string): Error => refusal(call, this.#failed);
    // A transaction that the job wanted to undo must not be committed, even if the job ignores the error.
    const calls = Object.fromEntries(
      ['beginTransaction', 'rollback', 'changeUser', 'reset'].map((call) => [
        call,
        () => Promise.reject((this.#end ??= refuse(call))),
      ]),
    );
    const destroy = (): void => {
      if (this.#isClosed) return;
      this.#end ??= new GuardError('ERR_LOCK_GUARD_FAILED', destroyedByJob);
      this.#last = Promise.resolve(); // the server may never answer what was sent
      connection.destroy();
    };
    // The library's other methods send by this property, also when another transaction has the connection.
    const inTime = (): unknown => {
      this.#refuseClosed();
      return connection.connection;
    };
    this.tx = Object.assign(
      Object.create(connection, {
        connection: { get: inTime },
        // These send nothing.
        config: { value: connection.config },
        threadId: { value: connection.threadId },
      }) as PoolConnection,
      {
        escape: connection.escape.bind(connection),
        escapeId: connection.escapeId.bind(connection),
        format: connection.format.bind(connection),
        query: this.#sends((...args) => connection.query(...args)),
        execute: this.#sends((...args) => connection.execute(...args)),
        prepare: this.#sends(async (...args) => {
          const statement = await connection.prepare(...args);
          const execute = this.#sends((...values) => statement.execute(...values));
          return Object.assign(Object.create(statement) as typeof statement, { execute });
        }),
        ping: this.#sends(() => connection.ping()),
        ...calls,
        commit: () => Promise.reject(refuse('commit')),
        end: () => Promise.reject(refuse('end')), // mysql2 releases a connection of a pool at its end, too
        release: () => {
          throw refuse('release');
        },
        close: destroy,
        destroy,
      },
    );
  }

  /** Takes no more statements, and waits for those that the job has sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  /** Keeps the error with which the connection ended: of a later statement, the library says only that it is closed. */
  lose(error: unknown): void {
    if ((error as { fatal?: unknown } | undefined)?.fatal === true)
      this.#end ??= new GuardError('ERR_LOCK_GUARD_FAILED', connectionLost, { cause: error });
  }

  /** Throws if the transaction has been rolled back, or the job wanted to end it. */
  refuseEnded(): void {
    if (this.#end) throw this.#end;
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new GuardError('ERR_LOCK_GUARD_FAILED', afterTheEnd);
  }

  /** The overloads take a statement, and perhaps its values. */
  #sends<T>(send: (...args: [string]) => Promise<T>): (...args: [string]) => Promise<T> {
    return async (...args) => {
      this.#refuseClosed();
      const sent = this.#last.then(async () => {
        this.refuseEnded();
        return send(...args).catch((error: unknown) => {
          this.#failed = { cause: error };
          this.lose(error);
          const why = endings[codeOf(error)];
          if (why) this.#end ??= new GuardError('ERR_LOCK_GUARD_FAILED', why, this.#failed);
          throw error;
        });
      });
      this.#last = sent.catch(() => undefined);
      return sent;
    };
  }
}

/** The errors after which a statement may be committed at once. */
const endings: Partial<Record<string, string>> = {
  ER_LOCK_DEADLOCK: rolledBack,
  // In MariaDB, a row that another transaction has changed since the first read.
  ER_CHECKREAD: rolledBack,
  ER_LOCK_TABLE_FULL: rolledBack,
  PROTOCOL_SEQUENCE_TIMEOUT: runsOn,
};
