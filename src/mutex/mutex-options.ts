import { expectDuration, expected, expectMethod, expectOneOf, expectOptions } from '../support/validate.js';
import { ApplicationDriver } from '../driver/application-driver.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { checkedWeights, type WeightsOptions } from '../weighted/weights-options.js';
import { standardDriver } from '../driver/standard-driver.js';
import type { LockRules } from './lock-rules.js';

/** Options of {@link InterProcessMutex}. */
export interface InterProcessMutexOptions {
  /** Who holds the lock, decided from the names of its znodes. @default Curator's order */
  readonly driver?: LockDriver | undefined;
  /**
   * Let the heavier ones in first: `acquire({ weight })`, a whole number from 1 to 10. Within a weight it is first
   * come, first served, and each waiter is overtaken by a bounded
   * number of others, so that nobody waits for ever. Such a lock keeps who holds it in the data of its own znode, and
   * is no lock of Curator's: give it a path of its own. How it
   * decides, and what that costs: docs/weights.md.
   * @default all waiters weigh the same
   */
  readonly weights?: WeightsOptions | undefined;
  /**
   * What to do when the lock's znode has children that this kind of lock did not create: `reject` the acquire with
   * ForeignNodeError, or `wait` behind those whose name sorts before ours, as Curator does, and pass the rest: kazoo's
   * `…__lock__…` sort behind ours, so
   * with `wait` kazoo's holder and ours do not exclude each other.
   * @default 'reject'
   */
  readonly foreignNodes?: 'reject' | 'wait' | undefined;
  /**
   * Keep the lock after a release until somebody else wants it, so that the next acquire in this process needs no
   * request. For a worker
   * that takes the same lock again and again with nobody else asking; see the README for what it costs where somebody
   * does.
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
  readonly driver: LockDriver;
  readonly foreignNodes: 'reject' | 'wait';
  readonly sticky: StickyOptions | undefined;
  readonly weights: { readonly overtakesPerWeight: number } | undefined;
  /** What other objects of the client on the same path must agree on. */
  readonly rules: LockRules;
}

/** A copy. @throws TypeError or RangeError for a bad option */
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
    // The names alone do not say who holds a lock with weights; its order has no place for other clients; and who kept
    // the lock would keep the heavier ones out.
    if (driver !== undefined) throw new TypeError(expected('driver', 'undefined beside `weights`', driver));
    if (foreignNodes === 'wait')
      throw new TypeError(expected('foreignNodes', "'reject' beside `weights`", foreignNodes));
    if (sticky !== undefined) throw new TypeError(expected('sticky', 'undefined beside `weights`', sticky));
  }
  const checked = {
    driver: driver === undefined || isOwnDriver ? (driver ?? standardDriver) : checkDriver(driver),
    foreignNodes,
    sticky: sticky === undefined ? undefined : checkSticky(sticky),
    weights: weights === undefined ? undefined : checkedWeights(weights),
  };
  // The library's own drivers are no option: the kind of lock says them.
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
