import { callApplication } from '../support/no-context.js';
import { expectDuration, expected, expectMethod, expectOneOf, expectOptions } from '../support/validate.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { PriorityDriver } from '../weighted/priority-driver.js';
import { standardDriver } from '../driver/standard-driver.js';

/** Options of {@link InterProcessMutex}. */
export interface InterProcessMutexOptions {
  /** Who holds the lock, decided from the names of its znodes; or a {@link PriorityDriver}, for a lock with weights. @default Curator's order */
  readonly driver?: LockDriver | PriorityDriver | undefined;
  /**
   * What to do when the lock's znode has children that this kind of lock did not create: `reject` the acquire with
   * ForeignNodeError, or `wait` behind those whose name sorts before ours, as Curator does, and pass the rest: kazoo's `…__lock__…` sort behind ours, so
   * with `wait` kazoo's holder and ours do not exclude each other.
   * @default 'reject'
   */
  readonly foreignNodes?: 'reject' | 'wait' | undefined;
  /**
   * Keep the lock after a release until somebody else wants it, so that the next acquire in this process needs no request. For a worker
   * that takes the same lock again and again with nobody else asking; see the README for what it costs where somebody does.
   * @default the lock is given up at each release
   */
  readonly sticky?: StickyOptions | undefined;
}

/** Options of a sticky lock. */
export interface StickyOptions {
  /** After how many milliseconds without use it is given up, ≥ 0. */
  readonly idleMs: number;
}

/** With the defaults. */
export interface CheckedMutexOptions {
  readonly driver: LockDriver | PriorityDriver;
  readonly foreignNodes: 'reject' | 'wait';
  readonly sticky: StickyOptions | undefined;
}

/** A copy. @throws TypeError or RangeError for a bad option */
export function checkedMutexOptions(options: InterProcessMutexOptions, { isOwnDriver = false } = {}): CheckedMutexOptions {
  const { driver = standardDriver, foreignNodes = 'reject', sticky } = expectOptions('InterProcessMutex', options, ['driver', 'foreignNodes', 'sticky']);
  expectOneOf('foreignNodes', foreignNodes, ['reject', 'wait']);
  if (driver instanceof PriorityDriver) {
    // Nobody can say who of both goes first; and whoever kept the lock would keep the heavier ones out.
    if (foreignNodes === 'wait') throw new TypeError(expected('foreignNodes', "'reject' with a PriorityDriver", foreignNodes));
    if (sticky !== undefined) throw new TypeError(expected('sticky', 'undefined with a PriorityDriver', sticky));
  } else {
    expectMethod('driver', driver, 'decide');
    expectMethod('driver', driver, 'sort');
  }
  if (typeof driver.lockName !== 'string' || driver.lockName === '') throw new TypeError(expected('driver.lockName', 'a non-empty string', driver.lockName));
  if (/[/\0]/.test(driver.lockName)) throw new TypeError(expected('driver.lockName', 'a part of a name, without slashes', driver.lockName));
  return {
    driver: isOwnDriver || driver instanceof PriorityDriver ? driver : outsideOfContexts(driver),
    foreignNodes,
    sticky: sticky === undefined ? undefined : checkSticky(sticky),
  };
}

function checkSticky(options: StickyOptions): StickyOptions {
  const { idleMs } = expectOptions('sticky', options, ['idleMs']);
  expectDuration('sticky.idleMs', idleMs);
  return { idleMs };
}

/** One for each driver of an application: whether two mutexes have the same one is told by identity. */
const wrapped = new WeakMap<LockDriver, LockDriver>();

/** A driver is application code, which must not act as the owner of a lock. */
function outsideOfContexts(driver: LockDriver): LockDriver {
  if (driver === standardDriver) return driver;
  const known = wrapped.get(driver);
  if (known) return known;
  const { lockName, lockNames, appendOnly } = driver;
  const outside: LockDriver = {
    lockName,
    appendOnly,
    ...(lockNames && { lockNames }),
    sort: (children) => callApplication(() => driver.sort(children)),
    decide: (sorted, ours, maxLeases) => callApplication(() => driver.decide(sorted, ours, maxLeases)),
  };
  wrapped.set(driver, outside);
  return outside;
}
