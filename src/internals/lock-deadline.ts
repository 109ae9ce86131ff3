import { ClientClosedError } from '../client/report/client-errors.js';
import type { LockHost } from '../client/lock-host.js';
import { Deadline, type DeadlineErrors, type DeadlineOptions } from '../support/deadline.js';
import { timeoutError } from './timeout-error.js';
import type { TimedOut, WantedLeases } from '../client/report/timeout-text.js';

/** The deadline of a call about the lock at a path. Its timeout error names the lock. */
export function lockDeadline(
  host: LockHost,
  path: string,
  { what = 'acquired', ...options }: LockDeadlineOptions,
): Deadline {
  return new Deadline(host, path, errors[what], options);
}

/**
 * The deadline of an acquire. With a timeout of 0 the acquire tries once.
 *
 * @param leases for a semaphore: returns what its timeout error says about the leases
 */
export function acquireDeadline(
  host: LockHost,
  path: string,
  { timeoutMs, signal }: DeadlineOptions,
  leases?: () => WantedLeases | undefined,
): Deadline {
  return new Deadline(
    host,
    path,
    leases ? acquireErrors(leases) : acquireErrorsOfMutex,
    timeoutMs === 0 ? { signal, mayWait: false } : { timeoutMs, signal },
  );
}

export interface LockDeadlineOptions extends DeadlineOptions {
  /** The operation that the call waits for. @default 'acquired' */
  readonly what?: TimedOut;
}

const errors: Record<TimedOut, DeadlineErrors<LockHost>> = {
  acquired: errorsOf('acquired'),
  released: errorsOf('released'),
  revoked: errorsOf('revoked'),
  participants: errorsOf('participants'),
  holder: errorsOf('holder'),
};

function acquireErrors(leases?: () => WantedLeases | undefined): DeadlineErrors<LockHost> {
  return { ...errorsOf('acquired', leases), isAcquire: true };
}

const acquireErrorsOfMutex = acquireErrors();

function errorsOf(what: TimedOut, leases?: () => WantedLeases | undefined): DeadlineErrors<LockHost> {
  return {
    late: ({ caller, subject, ...call }) => timeoutError(caller, subject, { ...call, what, leases: leases?.() }),
    closed: (path) => new ClientClosedError(`the lock ${path} cannot be used any more`),
  };
}
