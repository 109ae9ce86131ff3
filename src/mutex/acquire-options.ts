import { isUint8Array } from 'node:util/types';
import { expected, expectDuration, expectInteger, expectOptions, expectSignal } from '../support/validate.js';
import { heaviest, lightest } from '../weighted/weighted-name.js';
import { ownerData } from '../internals/lock-owner.js';
import { checkRenewal, type LeaseTerms } from './hold-lease.js';

/**
 * How long to wait for a lock, and how long to hold it at most: a plain object, which is read once, at the call. A bad
 * option is a TypeError or a RangeError that
 * names it, before anything is sent.
 */
export interface AcquireOptions {
  /**
   * The longest wait in milliseconds, connecting and retrying included; 0 tries once, for as long as an answer takes.
   * Then LockTimeoutError.
   * @default as long as it takes
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait; the acquire rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long the lock may be held unless the hold is renewed, in milliseconds ≥ 1, by this process's clock. Then the
   * hold is lost, with reason `lease-expired`: its
   * signal aborts, and the lock passes on, also if the job hangs. The hold of a re-entrant acquire is under the leases
   * of the hold that it re-enters, too, and
   * its own lease ends no other hold.
   * @default as long as the session lives
   */
  readonly leaseMs?: number | undefined;
  /**
   * Renews the lease by itself, every so many milliseconds ≥ 1, as long as this process runs; needs a longer `leaseMs`.
   * Then the lease does not end a job that
   * hangs, only one whose process does not run.
   * @default renewed by `hold.renew` alone
   */
  readonly renewEveryMs?: number | undefined;
  /**
   * What others read about this participant: bytes, at most 512 KiB, that `participants()` and `holder()` show as
   * `data`; or `'owner'`, which they show as `owner`. A
   * re-entrant acquire writes nothing. Not for a sticky lock, whose holders share a znode.
   * @default the host's address, as in Curator
   */
  readonly data?: Uint8Array | 'owner' | undefined;
}

/** How long to wait for something. */
export interface WaitOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** As {@link AcquireOptions}, and where in the queue. */
export interface MutexAcquireOptions extends AcquireOptions {
  /**
   * A whole number from 1 to 10: the heavier ones are let in first. Only with the option `weights` of the mutex.
   * Whoever re-enters does not wait, whatever its weight.
   * @default 1
   */
  readonly weight?: number | undefined;
}

const waitNames = ['timeoutMs', 'signal'];

const leaseNames = ['leaseMs', 'renewEveryMs'];

export const weightNames = ['weight'];

/**
 * Of calls that wait, and acquire nothing. As of all checks, what is returned is a copy: the caller may change its own
 * while the call waits.
 */
export function checkWaitOptions(what: string, options: WaitOptions): WaitOptions {
  const checked = expectOptions(what, options, waitNames);
  checkWait(checked);
  return checked;
}

export function checkAcquireOptions(
  what: string,
  options: AcquireOptions = {},
  alsoKnown: readonly string[] = [],
): AcquireOptions {
  const checked = expectOptions(what, options, [...waitNames, ...leaseNames, 'data', ...alsoKnown]);
  if ((checked.timeoutMs as unknown) === Infinity)
    throw new RangeError(
      `${expected('timeoutMs', 'a finite number of milliseconds ≥ 0', Infinity)}: ${withoutLimit(what)}`,
    );
  checkWait(checked);
  checkLease(checked);
  const { data } = checked;
  return data === undefined || data === 'owner' ? checked : { ...checked, data: copyOfData(data, bytesOrOwner) };
}

/** Of a mutex, which has weights or has not. */
export function checkMutexOptions(
  what: string,
  options: MutexAcquireOptions,
  hasWeights: boolean,
): MutexAcquireOptions {
  const checked: MutexAcquireOptions = checkAcquireOptions(what, options, weightNames);
  if (checked.weight === undefined) return checked;
  if (!hasWeights)
    throw new TypeError(
      'Unexpected option `weight`: it needs a mutex with weights, new InterProcessMutex(client, path, { weights: {} })',
    );
  expectInteger('weight', checked.weight, { min: lightest, max: heaviest });
  return checked;
}

/** tryAcquire takes a number of milliseconds, too, and waits for none where none is given. */
export function checkTryOptions(
  options: number | AcquireOptions = {},
  alsoKnown: readonly string[] = [],
): AcquireOptions {
  const { timeoutMs = 0, ...others } = checkAcquireOptions(
    'tryAcquire',
    typeof options === 'object' ? options : { timeoutMs: options },
    alsoKnown,
  );
  return { timeoutMs, ...others };
}

/** The lease that was asked for, if any. */
export function leaseTermsOf({ leaseMs, renewEveryMs }: AcquireOptions): LeaseTerms | undefined {
  return leaseMs === undefined ? undefined : { leaseMs, renewEveryMs };
}

/** What to write into the znode, if that was asked for. */
export function dataOfOptions({ data }: AcquireOptions): Uint8Array | undefined {
  return data === 'owner' ? ownerData() : data;
}

/** @throws TypeError or RangeError for data that no znode can have */
export function copyOfData(data: unknown, accepted = bytes): Buffer {
  // Of whatever realm: in Jest's, a Buffer is no instance of the global Uint8Array.
  if (!isUint8Array(data)) throw new TypeError(expected('data', accepted, data));
  // A server closes the connection that a larger request comes on: to all who use it, and again at every try.
  if (data.length > mostDataBytes)
    throw new RangeError(expected('data', `at most ${mostDataBytes} bytes`, data.length));
  return Buffer.from(data);
}

const mostDataBytes = 512 * 1_024;

const bytes = 'a Uint8Array, such as a Buffer';

const bytesOrOwner = `${bytes}, or 'owner'`;

/** @throws TypeError or RangeError unless a lease may last that long */
export function checkLeaseMs(option: string, value: unknown): asserts value is number {
  if (typeof value !== 'number') throw new TypeError(expected(option, 'a number of milliseconds ≥ 1', value));
  if (!Number.isFinite(value) || value < 1)
    throw new RangeError(expected(option, 'a finite number of milliseconds ≥ 1', value));
}

function withoutLimit(what: string): string {
  return what === 'tryAcquire' ? 'call acquire() to wait without a limit' : 'leave it out to wait without a limit';
}

function checkWait({ timeoutMs, signal }: WaitOptions): void {
  if (timeoutMs !== undefined) expectDuration('timeoutMs', timeoutMs);
  if (signal !== undefined) expectSignal('signal', signal);
}

function checkLease({ leaseMs, renewEveryMs }: AcquireOptions): void {
  if (leaseMs !== undefined) checkLeaseMs('leaseMs', leaseMs);
  if (renewEveryMs === undefined) return;
  checkLeaseMs('renewEveryMs', renewEveryMs);
  if (leaseMs === undefined)
    throw new TypeError(
      `Expected \`leaseMs\` beside \`renewEveryMs\`, which is ${renewEveryMs}: there is no lease to renew`,
    );
  checkRenewal(leaseMs, renewEveryMs);
}
