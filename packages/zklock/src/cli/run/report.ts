import { printableLines } from '../../../../../src/support/printable.js';
import type { Io, Output } from '../io.js';

/** An event of `zklock run`. Times are in milliseconds. */
export type RunEvent =
  | { readonly event: 'connecting'; readonly message: string }
  | { readonly event: 'connected'; readonly sessionTimeoutMs: number }
  | { readonly event: 'waiting'; readonly path: string; readonly position?: number }
  | { readonly event: 'warning'; readonly message: string }
  | { readonly event: 'acquired'; readonly node: string; readonly fence: string; readonly waitedMs: number }
  | { readonly event: 'started'; readonly session: number }
  | { readonly event: 'connection'; readonly state: string; readonly remainingMs: number }
  | { readonly event: 'signal'; readonly signal: string }
  | { readonly event: 'asked-to-release' }
  | { readonly event: 'stopped'; readonly remainingMs: number }
  | { readonly event: 'ending'; readonly why: string; readonly killInMs: number }
  | { readonly event: 'killed'; readonly why: string }
  | { readonly event: 'command-ended'; readonly exitCode: number; readonly othersRun: boolean }
  | { readonly event: 'all-ended'; readonly remainingMs: number }
  | { readonly event: 'left'; readonly processes: readonly number[] }
  | { readonly event: 'not-acquired'; readonly message: string }
  | { readonly event: 'lost'; readonly message: string }
  | { readonly event: 'interrupted'; readonly signal: string }
  | { readonly event: 'failed'; readonly message: string }
  | { readonly event: 'released' }
  | { readonly event: 'exit'; readonly exitCode: number };

/** Writes the events to standard error: as JSON, as text, or only those that nobody should miss. */
export class Report {
  readonly #stderr: Output;
  readonly #how: 'json' | 'all' | 'important';

  constructor(io: Io, { json, verbose }: { readonly json: boolean; readonly verbose: boolean }) {
    // Opened before the command starts; see `processIo`.
    this.#stderr = io.stderr;
    this.#how = json ? 'json' : verbose ? 'all' : 'important';
  }

  /** @param isImportant true for an event that is also written without `--verbose` */
  tell(event: RunEvent, { isImportant = false } = {}): void {
    if (this.#how === 'json')
      this.#write(JSON.stringify({ time: new Date().toISOString(), ...event }, wholeMilliseconds));
    else if (this.#how === 'all' || isImportant) this.#write(`zklock run: ${textOf(event)}`);
  }

  #write(line: string): void {
    this.#stderr.write(`${printableLines(line)}\n`);
  }
}

function wholeMilliseconds(key: string, value: unknown): unknown {
  return key.endsWith('Ms') && typeof value === 'number' ? Math.round(value) : value;
}

function textOf(event: RunEvent): string {
  switch (event.event) {
    case 'connected':
      return `connected, with a session timeout of ${seconds(event.sessionTimeoutMs)}`;
    case 'waiting':
      return `waiting for ${event.path}${event.position === undefined ? '' : ` at place ${event.position}`}`;
    case 'acquired':
      return `acquired after ${seconds(event.waitedMs)}: ${event.node}, token ${event.fence}`;
    case 'started':
      return `the command runs in session ${event.session}`;
    case 'connection':
      return `the connection is ${event.state}; the lock is held for ${seconds(event.remainingMs)} at least`;
    case 'signal':
      return `${event.signal} is passed on`;
    case 'asked-to-release':
      return 'another client asks for the lock: the command gets TERM';
    case 'stopped':
      return `stopped: the lock is lost unless this job is continued within ${seconds(event.remainingMs)}`;
    case 'ending':
      return `${event.why}: the command gets TERM, and KILL after ${seconds(event.killInMs)}`;
    case 'killed':
      return `${event.why}: the command gets KILL`;
    case 'command-ended':
      return event.othersRun
        ? `the command ended with ${event.exitCode}; the lock is held until its other processes end`
        : `the command ended with ${event.exitCode}`;
    case 'all-ended':
      return `all processes of the command have ended; the lock was certainly held for ${seconds(event.remainingMs)} more`;
    case 'left':
      return `processes of the command that may still run, without the lock: ${event.processes.length} (${event.processes.join(', ')})`;
    case 'interrupted':
      return `${event.signal} arrived before the command was started`;
    case 'connecting':
    case 'warning':
    case 'not-acquired':
    case 'failed':
    case 'lost':
      return event.message;
    case 'released':
      return 'released';
    case 'exit':
      return `exit code ${event.exitCode}`;
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 0)} s`;
}
