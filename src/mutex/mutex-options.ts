import { expected, expectMethod, expectOneOf, expectOptions } from '../support/validate.js';
import { ApplicationDriver } from '../driver/application-driver.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { standardDriver } from '../driver/standard-driver.js';
import { checkAcquireOptions, type MutexAcquireOptions } from './acquire-options.js';
import { curatorWay } from './curator-way.js';
import type { LockRules } from './lock-rules.js';
import { wayOptions, type MutexWay, type WayOption } from './mutex-way.js';

/** Options of {@link InterProcessMutex}. */
export interface InterProcessMutexOptions {
  /** Decides from the names of the lock's znodes which one holds the lock. @default Curator's order */
  readonly driver?: LockDriver | undefined;
  /**
   * The reaction to children of the lock's znode that this kind of lock did not create. `reject` rejects the acquire
   * with ForeignNodeError. `wait` does as Curator does: the acquire waits for those children whose names sort before
   * its own, and ignores the rest: a holder with such a name and this lock do **not** exclude each other. kazoo's
   * `…__lock__…` sort after Curator's names. To share a lock with kazoo, give kazoo's znodes Curator's names instead.
   * @default 'reject'
   */
  readonly foreignNodes?: 'reject' | 'wait' | undefined;
}

/** The options with their defaults. */
export interface CheckedMutexOptions {
  /** The driver that the lock calls. */
  readonly driver: LockDriver;
  /** The options on which other objects of the client and path must agree. */
  readonly rules: LockRules;
}

/** Returns a checked copy. @throws TypeError or RangeError for a bad option */
export function checkedMutexOptions(
  options: InterProcessMutexOptions,
  { isOwnDriver = false } = {},
): CheckedMutexOptions {
  const given = expectOptions('InterProcessMutex', options, ['driver', 'foreignNodes', ...wayOptions().map(nameOf)]);
  const { driver, foreignNodes = 'reject' } = given;
  expectOneOf('foreignNodes', foreignNodes, ['reject', 'wait']);
  const way = wayIn(given);
  const checked = driver === undefined || isOwnDriver ? (driver ?? standardDriver) : checkDriver(driver);
  // The library's own drivers are not options: the kind of the lock implies them.
  const ofRules = isOwnDriver ? standardDriver : (driver ?? standardDriver);
  return { driver: checked, rules: { driver: ofRules, foreignNodes, way } };
}

/** Checks the options for an acquire of a mutex with this way. */
export function checkMutexOptions(what: string, options: MutexAcquireOptions, way: MutexWay): MutexAcquireOptions {
  const checked = checkAcquireOptions(what, options, wayNames());
  for (const option of wayOptions()) if (!option.isWay(way)) option.refuseAcquire?.(checked);
  way.checkAcquire(checked);
  return checked;
}

/** The names of the acquire options that only some ways have. */
export function wayNames(): readonly string[] {
  return wayOptions().flatMap(({ acquireNames }) => acquireNames);
}

/** A mutex has one way. */
function wayIn(options: InterProcessMutexOptions): MutexWay {
  const values = options as Readonly<Record<string, unknown>>;
  const [first, second] = wayOptions().filter(({ name }) => values[name] !== undefined);
  if (first === undefined) return curatorWay;
  if (second === undefined) return first.wayOf(values[first.name], options);
  throw new TypeError(expected(first.name, `undefined together with \`${second.name}\``, values[first.name]));
}

function nameOf({ name }: WayOption): string {
  return name;
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
