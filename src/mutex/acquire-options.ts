import { isUint8Array } from 'node:util/types';
import { expected, expectDuration, expectNumber, expectOptions, expectSignal } from '../support/validate.js';
import { ownerData } from '../internals/znode/znode-data.js';
import { checkRenewal } from './hold-lease.js';

/**
 * How long to wait for a lock, and how long to hold it at most. A plain object, which is read once, at the call. A bad
 * option is a TypeError or a RangeError that names the option, before anything is sent.
 */
export interface AcquireOptions {
  /**
   * The longest wait in milliseconds, connecting and retrying included. Afterwards the acquire rejects with
   * LockTimeoutError. With 0 the acquire tries once, for as long as the servers' answer takes.
   * @default no limit
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait: the acquire rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The longest time that the lock may be held without a renewal, in milliseconds ≥ 1, by this process's clock.
   * Afterwards the hold is lost with reason `lease-expired`: its signal aborts, and the next waiter gets the lock, even
   * if the job hangs. A re-entrant hold also ends with the leases of the hold that it re-enters; its own lease ends no
   * other hold.
   * @default no limit but the life of the session
   */
  readonly leaseMs?: number | undefined;
  /**
   * Renews the lease automatically, at this interval in milliseconds ≥ 1, while this process runs. `leaseMs` must be
   * longer. The lease then no longer ends a job that hangs: it ends only a job whose process does not run.
   * @default only `hold.renew` renews the lease
   */
  readonly renewEveryMs?: number | undefined;
  /**
   * The longest time that `release()`, and so `withLock`, waits for the servers, in milliseconds ≥ 0. Afterwards it
   * settles as if they had answered, the `logger` gets a line, and the release goes on in the background until the znode
   * is gone: only then can another client be granted the lock. With 0 it does not wait. Of several holds of one owner, the
   * last release counts.
   * @default `release()` waits for the servers, until the session's deadline at the latest
   */
  readonly releaseTimeoutMs?: number | undefined;
  /**
   * The data of this participant's znode, for other clients to read: at most 512 KiB of bytes, which `participants()`
   * and `holder()` return as `data`; or `'owner'`, which they return as `owner`. A re-entrant acquire writes nothing. A
   * sticky lock does not take this option, because its holders share one znode.
   * @default the host's address, as in Curator
   */
  readonly data?: Uint8Array | 'owner' | undefined;
}

/** How long to wait. */
export type WaitOptions = Pick<AcquireOptions, 'timeoutMs' | 'signal'>;

/** The options of an acquire of a mutex: {@link AcquireOptions}, and those of its way. */
// oxlint-disable-next-line typescript/no-empty-object-type -- the ways add their options
export interface MutexAcquireOptions extends AcquireOptions {}

const waitNames = ['timeoutMs', 'signal'];

const holdNames = ['leaseMs', 'renewEveryMs', 'releaseTimeoutMs'];

/**
 * Checks the options of a call that waits and acquires nothing. Like every check, it returns a copy: the caller may
 * change its own object while the call waits.
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
  const checked = expectOptions(what, options, [...waitNames, ...holdNames, 'data', ...alsoKnown]);
  const withoutLimit = what === 'tryAcquire' ? 'call acquire()' : 'leave it out';
  checkWait(checked, `: ${withoutLimit} to wait without a limit`);
  checkLease(checked);
  checkReleaseTimeout(checked);
  const { data } = checked;
  return data === undefined || data === 'owner' ? checked : { ...checked, data: copyOfData(data, bytesOrOwner) };
}

/** Checks the argument of tryAcquire: options, or a number of milliseconds. Without a number the call does not wait. */
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

/** The bytes to write into the znode, if the options name any. */
export function dataOfOptions({ data }: AcquireOptions): Uint8Array | undefined {
  return data === 'owner' ? ownerData() : data;
}

/** @throws TypeError or RangeError for data that no znode can have */
export function copyOfData(data: unknown, accepted = bytes, option = 'data'): Buffer {
  // isUint8Array works across realms: in Jest's realm a Buffer is not an instance of the global Uint8Array.
  if (!isUint8Array(data)) throw new TypeError(expected(option, accepted, data));
  // A server closes the connection on which a larger request arrives. That would hit every user of the client, again at
  // each retry.
  if (data.length > mostDataBytes)
    throw new RangeError(expected(option, `at most ${mostDataBytes} bytes`, data.length));
  return Buffer.from(data);
}

const mostDataBytes = 512 * 1_024;

const bytes = 'a Uint8Array, such as a Buffer';

const bytesOrOwner = `${bytes}, or 'owner'`;

/** @throws TypeError or RangeError unless `value` is a possible length of a lease */
export function checkLeaseMs(option: string, value: unknown): asserts value is number {
  const advice = value === Infinity && option === 'leaseMs' ? ': leave it out to have no lease' : '';
  expectNumber(option, value, 'a finite number of milliseconds ≥ 1', (ms) => ms >= 1 && ms < Infinity, advice);
}

function checkWait({ timeoutMs, signal }: WaitOptions, ifInfinite?: string): void {
  if (timeoutMs !== undefined) expectDuration('timeoutMs', timeoutMs, ifInfinite);
  if (signal !== undefined) expectSignal('signal', signal);
}

function checkReleaseTimeout({ releaseTimeoutMs }: AcquireOptions): void {
  const ifInfinite = ': leave it out to wait until the session’s deadline';
  if (releaseTimeoutMs !== undefined) expectDuration('releaseTimeoutMs', releaseTimeoutMs, ifInfinite);
}

function checkLease({ leaseMs, renewEveryMs }: AcquireOptions): void {
  if (leaseMs !== undefined) checkLeaseMs('leaseMs', leaseMs);
  if (renewEveryMs === undefined) return;
  checkLeaseMs('renewEveryMs', renewEveryMs);
  if (leaseMs === undefined)
    throw new TypeError(
      `Expected \`leaseMs\` together with \`renewEveryMs\`, which is ${renewEveryMs}: without \`leaseMs\` there is no lease to renew`,
    );
  checkRenewal(leaseMs, renewEveryMs);
}
