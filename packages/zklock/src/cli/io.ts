import type { Readable, Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { exitCodes } from './exit-code.js';

/** All that a verb may touch of the process around it, so that a test can hand in its own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean | undefined };
  /** Results. */
  readonly stdout: Output;
  /** Messages and events. */
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True if `stdout` is a terminal. */
  readonly isTerminal: boolean;
  /** The version of the package. Called only where it is printed, because it reads a file. */
  version(): string;
  /** Calls `listener` at every such signal, instead of the signal's default action. Returns a function that stops that. */
  onSignal(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): () => void;
}

export type Output = Writable & { readonly columns?: number; readonly rows?: number };

/**
 * The `Io` of this process. Each stream is opened when it is first used. Node switches a pipe that it opens to
 * non-blocking mode, for all processes that share it: a command that `run` has started would fail to write.
 */
export function processIo(version: () => string): Io {
  return {
    get stdin() {
      return process.stdin;
    },
    get stdout() {
      return stdout();
    },
    get stderr() {
      return stderr();
    },
    env: process.env,
    isTerminal: isatty(1),
    version,
    onSignal(signal, listener) {
      process.on(signal, listener);
      return () => void process.off(signal, listener);
    },
  };
}

function stdout(): Output {
  if (!process.stdout.listeners('error').includes(outputFailed)) process.stdout.on('error', outputFailed);
  return process.stdout;
}

/** A terminal may close, or the reader of a pipe may leave. A command that runs must not end because of that. */
function stderr(): Output {
  if (!process.stderr.listeners('error').includes(ignore)) process.stderr.on('error', ignore);
  return process.stderr;
}

function ignore(): void {
  // There is no place left for a message.
}

/** The reader of a pipe may leave early, as in `zklock ls / | head -1`. A verb that listens for 'close' ends by itself. */
function outputFailed(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE' && process.stdout.listenerCount('close') > 0) return;
  if (error.code === 'EPIPE') process.exit(0);
  stderr().write(`zklock: standard output cannot be written: ${error.message}\n`);
  process.exit(exitCodes.failed);
}

/** The value of a variable that is set. A variable that is set to nothing counts as not set. */
export function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
