import { lockPath } from '../../../../../src/zookeeper/wire/path.js';
import type { Arguments } from '../verb.js';
import { UsageError } from '../usage-error.js';
import { exitCodes } from '../exit-code.js';
import { checkGrace } from './grace.js';
import type { RunOptions } from './run-options.js';

/** The checked command line of `zklock run`. */
export interface Plan {
  readonly path: string;
  readonly command: readonly string[];
  readonly lock: PlannedLock;
  /** How long to wait in all, connecting included. 0: try once. Undefined: as long as it takes. */
  readonly waitMs: number | undefined;
  readonly conflictExitCode: number;
  readonly leaseMs: number | undefined;
  /** Undefined: the default for the session timeout. */
  readonly graceMs: number | undefined;
  readonly scope: boolean;
  readonly onLost: string | undefined;
  readonly data: Buffer | 'owner';
}

export type PlannedLock =
  | { readonly is: 'mutex' }
  | { readonly is: 'weighted'; readonly weight: number }
  | { readonly is: 'reader' }
  | { readonly is: 'writer' }
  | { readonly is: 'semaphore'; readonly slots: number };

/** The session timeout that is asked for without `--session-timeout`. */
const defaultSessionTimeoutMs = 30_000;

/** @throws UsageError or InvalidPathError */
export function planOf({ options, written, operands: [path], command }: Arguments<RunOptions>): Plan {
  if (options.nonblock && options.wait !== undefined)
    throw new UsageError(
      `--nonblock and --wait exclude each other: give one of them, got ${written.nonblock} and ${written.wait}`,
    );
  checkGrace(options.grace, options['session-timeout'] ?? defaultSessionTimeoutMs);
  return {
    path: lockPath(path),
    command: commandOf(options.command, command),
    lock: lockOf(options, written),
    waitMs: options.nonblock ? 0 : options.wait,
    conflictExitCode: options['conflict-exit-code'] ?? exitCodes.notAcquired,
    leaseMs: options.lease,
    graceMs: options.grace,
    scope: options.scope,
    onLost: options['on-lost'],
    data: options.data === undefined ? 'owner' : Buffer.from(options.data),
  };
}

function commandOf(text: string | undefined, words: readonly string[]): readonly string[] {
  if (text !== undefined) {
    if (words.length > 0)
      throw new UsageError(
        `--command and a command after -- exclude each other: give one of them, got ${JSON.stringify(text)} and ${JSON.stringify(words.join(' '))}`,
      );
    return ['/bin/sh', '-c', text];
  }
  const [program] = words;
  if (program === undefined) throw new UsageError('The command is missing: write it after --, or give --command');
  // The shell that starts the command would read it as an option of its own.
  if (program === '' || program.startsWith('-'))
    throw new UsageError(`The command ${JSON.stringify(program)} is not the name of a program`);
  return words;
}

function lockOf(
  { shared, exclusive, slots, weight }: Arguments<RunOptions>['options'],
  written: Arguments<RunOptions>['written'],
): PlannedLock {
  const kinds: PlannedLock[] = [];
  if (shared) kinds.push({ is: 'reader' });
  if (exclusive) kinds.push({ is: 'writer' });
  if (slots !== undefined) kinds.push({ is: 'semaphore', slots });
  if (weight !== undefined) kinds.push({ is: 'weighted', weight });
  if (kinds.length > 1)
    throw new UsageError(
      `--shared, --exclusive, --slots and --weight are different kinds of lock: give one of them, got ${[written.shared, written.exclusive, written.slots, written.weight].filter((each) => each !== undefined).join(' and ')}`,
    );
  return kinds[0] ?? { is: 'mutex' };
}
