import { printableJson } from '../support/printable.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { standardDriver } from '../driver/standard-driver.js';
import type { MutexWay } from './mutex-way.js';

/** The options of a lock on which all objects of one client and path must agree. */
export interface LockRules {
  /** The driver that the application passed. */
  readonly driver: LockDriver;
  readonly foreignNodes: 'reject' | 'wait';
  readonly way: MutexWay;
}

export function agree(a: LockRules, b: LockRules): boolean {
  return (
    a === b ||
    (a.foreignNodes === b.foreignNodes &&
      a.way.agrees(b.way) &&
      (a.driver === b.driver || areAlike(a.driver, b.driver)))
  );
}

/**
 * True for two drivers of one class and one name, because an application may create a driver for each mutex object,
 * such as one for each request.
 */
function areAlike(a: LockDriver, b: LockDriver): boolean {
  const prototype: unknown = Object.getPrototypeOf(a);
  return (
    prototype === Object.getPrototypeOf(b) &&
    prototype !== Object.prototype &&
    prototype !== null &&
    a.lockName === b.lockName
  );
}

/** The options as source text. Defaults are left out. */
export function describeRules({ driver, foreignNodes, way }: LockRules): string {
  const options = [
    way.text,
    areAlike(driver, standardDriver) ? undefined : `driver: ${nameOf(driver)}`,
    foreignNodes === 'reject' ? undefined : `foreignNodes: '${foreignNodes}'`,
  ].filter((option) => option !== undefined);
  return options.length === 0 ? '{}' : `{ ${options.join(', ')} }`;
}

function nameOf(driver: LockDriver): string {
  const { constructor } = driver as { constructor?: unknown };
  const name = typeof constructor === 'function' && constructor !== Object ? constructor.name : '';
  return `${name || 'one'} of ${printableJson(driver.lockName)}`;
}
