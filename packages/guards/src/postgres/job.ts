import type { PoolClient } from 'pg';
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
  #failed: ErrorOptions | undefined;

  constructor(client: PoolClient) {
    this.tx = Object.assign(Object.create(client) as PoolClient, {
      query: (...args: [string]): unknown => {
        const refused = this.#isClosed ? new GuardError('ERR_LOCK_GUARD_FAILED', afterTheEnd) : this.#lost;
        return refused ? reject(args, refused) : this.#remember(client.query(...args));
      },
      release: (): never => {
        throw refusal('release', this.#failed);
      },
      end: () => Promise.reject(refusal('end', this.#failed)),
    });
  }

  /** The error of the server says why: `pg` itself says only that the client is not queryable. */
  lose(error: Error): void {
    this.#lost ??= new GuardError('ERR_LOCK_GUARD_FAILED', connectionLost, { cause: error });
  }

  refuseLost(): void {
    if (this.#lost) throw this.#lost;
  }

  /** Takes no more statements, and waits for those that the job has sent. Callbacks and cursors may be later. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
  }

  #remember(sent: unknown): unknown {
    if (!(sent instanceof Promise)) return sent;
    const answer = sent.catch((error: unknown) => {
      if (codeOf(error) !== aborted) this.#failed = { cause: error };
      throw error;
    });
    this.#last = sent.catch(() => undefined);
    return answer;
  }
}

/** Rejects a query as `pg` does. A throw would end the process if the caller is a timer. */
function reject(args: unknown[], error: GuardError): Promise<never> | undefined {
  const { submit, callback } = (args[0] ?? {}) as { submit?: unknown; callback?: unknown };
  // A cursor, for example, can tell an error only after it was sent.
  if (typeof submit === 'function') throw error;
  const tell = [...args, callback].find((each) => typeof each === 'function');
  if (!tell) return Promise.reject(error);
  process.nextTick(tell, error);
  return undefined;
}

/** The SQLSTATE of each statement after the one that failed. */
export const aborted = '25P02';
