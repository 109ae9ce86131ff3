import type { LockHost } from '../client/lock-host.js';
import type { TimedOut } from '../client/report/timeout-text.js';
import type { Deadline } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import { checkWaitOptions } from './acquire-options.js';

/**
 * Runs `answer`, which asks the servers through the client, with a deadline. The promise settles at the deadline, when
 * the signal aborts, or when the client closes, even if no server ever answers.
 */
export async function ask<T>(
  host: LockHost,
  { call, what, path }: Question,
  options: AskOptions | undefined,
  answer: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  const { timeoutMs = host.sessions.timeoutMs, signal } = checkWaitOptions(call, options === undefined ? {} : options);
  const deadline = lockDeadline(host, path, { timeoutMs, signal, what });
  try {
    return await answer(deadline);
  } finally {
    deadline.dispose();
  }
}

/** How long to wait for the servers' answer. */
export interface AskOptions {
  /**
   * The longest wait in milliseconds, connecting and asking again included. Afterwards the call rejects with
   * LockTimeoutError.
   * @default the session timeout, `client.sessionTimeoutMs`
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait: the call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The question, for the texts of errors. */
interface Question {
  /** The name of the function that the application called. */
  readonly call: string;
  readonly what: TimedOut;
  readonly path: string;
}
