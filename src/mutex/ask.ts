import type { LockClient } from '../client/lock-client.js';
import type { TimedOut } from '../internals/lock-errors.js';
import { Deadline } from '../internals/deadline.js';
import { checkWaitOptions } from './acquire-options.js';

/** What `answer` resolves to. Settles at the deadline, when the signal aborts, or when the client closes, even if no server ever answers. */
export async function ask<T>(client: LockClient, { call, what, path }: Question, options: AskOptions | undefined, answer: (deadline: Deadline) => Promise<T>): Promise<T> {
  const { timeoutMs = client.sessionTimeoutMs, signal } = checkWaitOptions(call, options === undefined ? {} : options);
  const deadline = new Deadline(client, path, { timeoutMs, signal, what });
  try {
    return await deadline.limit(() => answer(deadline), ignore);
  } finally {
    deadline.dispose();
  }
}

/** How long to wait for what the servers answer. */
export interface AskOptions {
  /**
   * The longest wait in milliseconds, connecting and asking again included. Then LockTimeoutError.
   * @default the session timeout, `client.sessionTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait; the call rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What is asked, for the texts of errors. */
interface Question {
  /** The name of the function that the application has called. */
  readonly call: string;
  readonly what: TimedOut;
  readonly path: string;
}

function ignore(): void {
  // The answer came after the call had settled.
}
