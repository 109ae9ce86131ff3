import { tellApplication } from '../support/no-context.js';
import { expected, expectMethod } from '../support/validate.js';

/**
 * Hears of what no call can report: `console`, pino and winston fit as they are. Each text is complete by itself,
 * because pino drops what follows a text; what was behind it
 * comes along for loggers that show it. No text contains a password.
 *
 * A connection is told of once for each change: `warn` when it is lost, when a session that held nothing is lost, and
 * when the servers grant another session timeout than was asked for;
 * `error` when locks are lost with their session; `info` when there is a connection again.
 *
 * @example
 * const client = await LockClient.connect(hosts, { logger: pino() });
 */
export interface Logger {
  /** What may need a look. */
  warn(message: string, details?: LogDetails): void;
  /** What has become well again. @default `warn` is called */
  info?(message: string, details?: LogDetails): void;
  /** Locks are lost. @default `warn` is called */
  error?(message: string, details?: LogDetails): void;
}

/** What comes along with a text; left out where there is nothing. */
export interface LogDetails {
  /** The error behind it, whose message the text contains. */
  readonly error: unknown;
}

/** A logger, or none, that can be told everything. */
export type ClientLog = Readonly<Record<'info' | 'warn' | 'error', (message: string, error?: unknown) => void>>;

/** @throws TypeError for something that is no logger */
export function checkedLog(logger: Logger | undefined): ClientLog {
  if (logger === undefined) return { info: silent, warn: silent, error: silent };
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
      tellApplication(() => {
        if (level === 'warn' || logger[level] === undefined) logger.warn(message, ...details);
        else logger[level](message, ...details);
      });
    };
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

function silent(): void {
  // Nobody listens.
}
