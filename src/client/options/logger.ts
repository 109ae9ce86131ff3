import { tellApplication } from '../../support/no-context.js';
import { printableLines } from '../../support/printable.js';
import { expected, expectMethod } from '../../support/validate.js';
import { redaction } from './redaction.js';

/**
 * Receives what no call can report. pino, winston and `console` can be passed as they are. A logger of your own gets its
 * arguments in the order of pino: an object for programs, then a text for readers. Each text is complete without the
 * object. Neither contains a password.
 *
 * A change of the connection is logged once; docs/operating.md lists what is logged at which level.
 *
 * @example
 * const client = await LockClient.connect(hosts, { logger: pino() });
 * const lines: string[] = [];
 * const other = await LockClient.connect(hosts, { logger: { warn: (_details, message) => lines.push(message) } });
 */
export interface Logger {
  /** Reports a problem that may need attention. */
  warn(details: LogDetails, message: string): unknown;
  /** Reports the end of a problem. @default `warn` is called */
  info?(details: LogDetails, message: string): unknown;
  /** Reports that locks are lost. @default `warn` is called */
  error?(details: LogDetails, message: string): unknown;
  /** Reports what the client has repaired by itself. @default such lines are left out */
  debug?(details: LogDetails, message: string): unknown;
}

/** The subject of a log line, for programs that read logs. Fields without a value are missing. */
export interface LogDetails {
  /** The error that caused the line. The text contains its message. pino shows an error of this name with its stack. */
  readonly err?: unknown;
  /** The session, written as in the servers' logs. */
  readonly sessionId?: string;
  /** `host:port` of the server. */
  readonly server?: string;
  /** The path of the znode, as the servers know it. */
  readonly path?: string;
  /** The number of locks that the session holds, or held when it was lost. */
  readonly held?: number;
  /** The duration of the outage that has ended, in milliseconds. */
  readonly durationMs?: number;
}

/** The levels, the least severe first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** A log with all levels, whether or not the application gave a logger. */
export type ClientLog = Readonly<Record<LogLevel, (message: string, details?: LogDetails) => void>>;

/**
 * @param secrets texts that no line may contain
 * @throws TypeError if `logger` has no method `warn`, or a level that is not a function
 */
export function checkedLog(logger: Logger | undefined, secrets: readonly string[] = []): ClientLog {
  if (logger === undefined) return noLog;
  expectMethod('logger', logger, 'warn');
  for (const level of ['info', 'error', 'debug'] as const) {
    const method = (logger as unknown as Record<string, unknown>)[level];
    if (method !== undefined && typeof method !== 'function')
      throw new TypeError(expected(`logger.${level}`, 'a function, or not there', method));
  }
  const redacted = redaction(secrets);
  const isTextFirst = takesTextFirst(logger);
  const at =
    (level: LogLevel) =>
    (message: string, details: LogDetails = {}): void => {
      const text = printableLines(redacted(message));
      const safe = redacted(details);
      // The result is passed on, because a method may be async.
      tellApplication((): unknown =>
        isTextFirst ? tellTextFirst(logger, level, text, safe) : tell(logger, level, text, safe),
      );
    };
  return { debug: logger.debug ? at('debug') : silent, info: at('info'), warn: at('warn'), error: at('error') };
}

/** The log of an application that gave no logger. */
export const noLog: ClientLog = { debug: silent, info: silent, warn: silent, error: silent };

function tell(logger: Logger, level: LogLevel, message: string, details: LogDetails): unknown {
  return logger[level] === undefined ? logger.warn(details, message) : logger[level](details, message);
}

/** `console` and winston show an object only behind the text. */
function tellTextFirst(logger: Logger, level: LogLevel, message: string, details: LogDetails): unknown {
  const log = logger as unknown as Record<LogLevel, (message: string, ...details: LogDetails[]) => unknown>;
  return Object.keys(details).length === 0 ? log[level](message) : log[level](message, details);
}

/** Recognized by methods that no other logger has, because the objects may come from another realm. */
function takesTextFirst(logger: object): boolean {
  const isConsole = 'table' in logger && 'groupEnd' in logger;
  const isWinston = 'transports' in logger && 'log' in logger;
  return isConsole || isWinston;
}

function silent(): void {
  // The application gave no logger, or none for this level.
}
