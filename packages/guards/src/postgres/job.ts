import type { PoolClient } from 'pg';
import { isPromise } from '../fenced.js';
import { afterTheEnd, connectionLost, GuardError, refusal } from '../guard-error.js';
import { codeOf } from '../sql.js';

/**
 * The job's view of the client. A statement after the end would be committed at once, or in the next transaction of the
 * connection.
 */
export class JobClient {
  readonly tx: PoolClient;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #lost: GuardError | undefined;
  /** An error that may be the end of the connection. Of another server, such as one of dblink, a savepoint undoes it. */
  #ending: unknown;
  #failed: ErrorOptions | undefined;

  constructor(client: PoolClient) {
    this.tx = Object.assign(Object.create(client) as PoolClient, {
      query: (...args: [string]): unknown => {
        if (this.#isClosed) return reject(args, new GuardError('ERR_LOCK_GUARD_FAILED', afterTheEnd));
        // A cursor, for example, learns of the loss from the library.
        return this.#lost && !isQuery(args[0]) ? reject(args, this.#lost) : this.#remember(client.query(...args));
      },
      release: (): never => {
        throw refusal('release', this.#failed);
      },
      end: () => Promise.reject(refusal('end', this.#failed)),
    });
  }

  /** The error of the server says why: `pg` itself says only that the client is not queryable. */
  lose(error: unknown): void {
    this.#lost ??= new GuardError('ERR_LOCK_GUARD_FAILED', connectionLost, { cause: this.#ending ?? error });
  }

  refuseLost(): void {
    if (this.#ending !== undefined) this.lose(this.#ending);
    if (this.#lost) throw this.#lost;
  }

  /** Takes no more statements, and waits for those that the job has sent. Callbacks and cursors may be later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  #remember(sent: unknown): unknown {
    // A pool may have a `Promise` of its own.
    if (!isPromise(sent)) return sent;
    const answer = sent.then(
      (result: unknown) => {
        this.#ending = undefined;
        return result;
      },
      (error: unknown) => {
        if (this.#ending !== undefined && codeOf(error) === '') this.refuseLost();
        if (codeOf(error) !== aborted) this.#failed = { cause: error };
        if (endsConnection.test(codeOf(error))) this.#ending = error;
        throw error;
      },
    );
    this.#last = Promise.resolve(sent).catch(() => undefined);
    return answer;
  }
}

/** Rejects a query as `pg` does. A throw would end the process if the caller is a timer. */
function reject(args: unknown[], error: GuardError): Promise<never> | undefined {
  // A query of its own class, such as a cursor, can tell an error only after it was sent.
  if (isQuery(args[0])) throw error;
  const { callback } = (args[0] ?? {}) as { callback?: unknown };
  const tell = [...args, callback].find((each) => typeof each === 'function');
  if (!tell) return Promise.reject(error);
  process.nextTick(tell, error);
  return undefined;
}

function isQuery(given: unknown): boolean {
  return typeof (given as { submit?: unknown } | undefined)?.submit === 'function';
}

/** The classes of SQLSTATE of a connection that is lost, and of a server that ends it. */
const endsConnection = /^(?:08|57P|25P0[34])/;

/** The SQLSTATE of each statement after the one that failed. */
export const aborted = '25P02';
