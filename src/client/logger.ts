import { tellApplication } from '../support/no-context.js';
import { expected, expectMethod } from '../support/validate.js';

/**
 * Receives the events that no call can report: `console`, pino and winston can be passed as they are. Each text is
 * complete without its second argument, because pino drops arguments after the text. The second argument contains the
 * error, for loggers that show it. No text contains a password.
 *
 * A change of the connection is logged once: `warn` when the connection is lost, when a session that held nothing is
 * lost, and when the servers grant another session timeout than the requested one; `error` when locks are lost with
 * their session; `info` when the client is connected again.
 *
 * @example
 * const client = await LockClient.connect(hosts, { logger: pino() });
 */
export interface Logger {
  /** Reports a problem that may need attention. */
  warn(message: string, details?: LogDetails): void;
  /** Reports the end of a problem. @default `warn` is called */
  info?(message: string, details?: LogDetails): void;
  /** Reports that locks are lost. @default `warn` is called */
  error?(message: string, details?: LogDetails): void;
}

/** The second argument of the logger's methods; left out if there is no error. */
export interface LogDetails {
  /** The error that caused the message. The text contains its message. */
  readonly error: unknown;
}

/** A log with all three levels, whether or not the application gave a logger. */
export type ClientLog = Readonly<Record<'info' | 'warn' | 'error', (message: string, error?: unknown) => void>>;

/** @throws TypeError if `logger` has no method `warn`, or a level that is not a function */
export function checkedLog(logger: Logger | undefined): ClientLog {
  if (logger === undefined) return noLog;
  expectMethod('logger', logger, 'warn');
  for (const level of ['info', 'error'] as const) {
    const method = (logger as unknown as Record<string, unknown>)[level];
    if (method !== undefined && typeof method !== 'function')
      throw new TypeError(expected(`logger.${level}`, 'a function, or not there', method));
  }
  const at =
    (level: 'info' | 'warn' | 'error') =>
    (message: string, error?: unknown): void => {
      const details = error === undefined ? [] : [{ error }];
      // The result is passed on, because a method may be async.
      tellApplication((): unknown =>
        level === 'warn' || logger[level] === undefined
          ? logger.warn(message, ...details)
          : logger[level](message, ...details),
      );
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

/** The log of an application that gave no logger. */
export const noLog: ClientLog = { info: silent, warn: silent, error: silent };

function silent(): void {
  // The application gave no logger.
}
