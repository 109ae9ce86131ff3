import { expectDuration, expected, expectMethod, expectOneOf, expectOptions } from '../support/validate.js';
import { ApplicationDriver } from '../driver/application-driver.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { checkedWeights, type WeightsOptions } from '../weighted/weights-options.js';
import { standardDriver } from '../driver/standard-driver.js';
import type { LockRules } from './lock-rules.js';

/** Options of {@link InterProcessMutex}. */
export interface InterProcessMutexOptions {
  /** Decides from the names of the lock's znodes which one holds the lock. @default Curator's order */
  readonly driver?: LockDriver | undefined;
  /**
   * Grant heavier waiters first: `acquire({ weight })`, a whole number from 1 to 10. Waiters of one weight are served
   * in the order in which they came. Each waiter can be overtaken only a limited number of times, so no wait lasts
   * forever. Such a lock keeps the name of its holder in the data of its own znode, and is not a lock of Curator: give
   * it a path of its own. For the rule and its costs see docs/locks/weights.md.
   * @default all waiters weigh the same
   */
  readonly weights?: WeightsOptions | undefined;
  /**
   * The reaction to children of the lock's znode that this kind of lock did not create. `reject` rejects the acquire
   * with ForeignNodeError. `wait` does as Curator does: the acquire waits for those children whose names sort before
   * its own, and ignores the rest: a holder with such a name and this lock do **not** exclude each other. kazoo's
   * `…__lock__…` sort after Curator's names. To share a lock with kazoo, give kazoo's znodes Curator's names instead.
   * @default 'reject'
   */
  readonly foreignNodes?: 'reject' | 'wait' | undefined;
  /**
   * Keep the lock after a release until another process wants it, so that the next acquire in this process needs no
   * request. For a worker that takes the same lock again and again while no other process wants it. The README says
   * what it costs when another process does.
   * @default the lock is given up at each release
   */
  readonly sticky?: StickyOptions | undefined;
}

/** Options of a sticky lock. */
export interface StickyOptions {
  /** The lock is given up after this many milliseconds without use, ≥ 0. */
  readonly idleMs: number;
}

/** The options with their defaults. */
export interface CheckedMutexOptions {
  readonly driver: LockDriver;
  readonly foreignNodes: 'reject' | 'wait';
  readonly sticky: StickyOptions | undefined;
  readonly weights: { readonly overtakesPerWeight: number } | undefined;
  /** The options on which other objects of the client and path must agree. */
  readonly rules: LockRules;
}

/** Returns a checked copy. @throws TypeError or RangeError for a bad option */
export function checkedMutexOptions(
  options: InterProcessMutexOptions,
  { isOwnDriver = false } = {},
): CheckedMutexOptions {
  const {
    driver,
    foreignNodes = 'reject',
    sticky,
    weights,
  } = expectOptions('InterProcessMutex', options, ['driver', 'foreignNodes', 'sticky', 'weights']);
  expectOneOf('foreignNodes', foreignNodes, ['reject', 'wait']);
  if (weights !== undefined) {
    // The names alone do not show the holder of a lock with weights, so a driver cannot decide. The order of weights
    // has no place for other clients. A sticky holder would keep heavier waiters out.
    if (driver !== undefined) throw new TypeError(expected('driver', 'undefined together with `weights`', driver));
    if (foreignNodes === 'wait')
      throw new TypeError(expected('foreignNodes', "'reject' together with `weights`", foreignNodes));
    if (sticky !== undefined) throw new TypeError(expected('sticky', 'undefined together with `weights`', sticky));
  }
  const checked = {
    driver: driver === undefined || isOwnDriver ? (driver ?? standardDriver) : checkDriver(driver),
    foreignNodes,
    sticky: sticky === undefined ? undefined : checkSticky(sticky),
    weights: weights === undefined ? undefined : checkedWeights(weights),
  };
  // The library's own drivers are not options: the kind of the lock implies them.
  const given = isOwnDriver ? standardDriver : (driver ?? standardDriver);
  return { ...checked, rules: { ...checked, driver: given } };
}

function checkDriver(driver: LockDriver): LockDriver {
  expectMethod('driver', driver, 'decide');
  expectMethod('driver', driver, 'sort');
  if (typeof driver.lockName !== 'string' || driver.lockName === '')
    throw new TypeError(expected('driver.lockName', 'a non-empty string', driver.lockName));
  if (/[/\0]/.test(driver.lockName))
    throw new TypeError(expected('driver.lockName', 'a part of a name, without slashes', driver.lockName));
  return driver === standardDriver ? driver : new ApplicationDriver(driver);
}

function checkSticky(options: StickyOptions): StickyOptions {
  const { idleMs } = expectOptions('sticky', options, ['idleMs']);
  expectDuration('sticky.idleMs', idleMs);
  return { idleMs };
}
