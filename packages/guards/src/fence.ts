import { inspect } from 'node:util';
import type { Hold } from 'zookeeper-fair-lock';
import type { Claim } from './guard-error.js';

/** The part of a hold that a guard needs: every `Hold` has it, and so has a term of an election. */
export type FencedHold = Pick<
  Hold,
  'path' | 'fencingToken' | 'grantNumber' | 'isFence' | 'isValid' | 'signal' | 'assertValid'
>;

/** The options of `guard`. All writers that a lock separates must use the same `key` and `table`. */
export interface GuardOptions {
  /**
   * The name of the guard's row or key. Give one if locks of two chroots or of two ensembles guard one store.
   *
   * @default the path of the lock
   */
  readonly key?: string | undefined;
  /**
   * The guard's table, also as `schema.table`.
   *
   * @default 'lock_fences'
   */
  readonly table?: string | undefined;
}

/** The options of `fenced`. */
export interface FencedOptions extends GuardOptions {
  /**
   * How often a transaction is repeated that the store ended because of other transactions.
   *
   * @default 10
   */
  readonly retries?: number | undefined;
}

/** A hold and its claim, checked. */
export interface Fence extends Claim {
  readonly hold: FencedHold;
  readonly table: string;
}

/**
 * Sends nothing.
 *
 * @throws TypeError or RangeError when the hold's token is no fence, or an option is bad
 * @throws LockLostError or NotOwnedError when the hold has ended
 */
export function fenceOf(hold: FencedHold, options: GuardOptions = {}, accepted = ofGuard): Fence {
  // JavaScript callers pass anything.
  const given = hold as Partial<FencedHold> | undefined;
  if (typeof given?.fencingToken !== 'bigint' || typeof given.isFence !== 'boolean')
    throw new TypeError(
      `Expected \`hold\` to be a Hold of zookeeper-fair-lock${given instanceof Promise ? ', got a Promise: await it' : '. For a multi-lock, call guard(tx, part) for each part of hold.holds'}`,
    );
  if (!hold.isFence)
    throw new TypeError(
      `The token of ${hold.path} is no fence. Several readers of a read lock and several leases of a semaphore are valid at once, ` +
        'so a later token does not mean that an earlier holder is late. Use a mutex, a write lock or an InterProcessSemaphoreMutex',
    );
  if (typeof options !== 'object' || (options as unknown) === null)
    throw new TypeError(`Expected the options to be an object, got ${inspect(options)}`);
  const unknown = Object.keys(options).find((name) => !accepted.includes(name));
  if (unknown !== undefined) throw new TypeError(`Unknown option \`${unknown}\`: accepted are ${accepted.join(', ')}`);
  hold.assertValid();
  const { key = hold.path.slice(0, hold.path.lastIndexOf('/')), table = 'lock_fences' } = options;
  if (typeof key !== 'string') throw new TypeError(`Expected \`key\` to be a string, got ${inspect(key)}`);
  if (key === '' || key.length > 512)
    throw new RangeError(`Expected \`key\` to be a text of 1 to 512 characters, got one of ${key.length}`);
  return { hold, key, table: tableName(table), token: hold.fencingToken, grant: hold.grantNumber };
}

const ofGuard: readonly string[] = ['key', 'table'];

/** Returns `table`. The name is part of the text of statements, so that it must not contain one. */
export function tableName(table: string): string {
  const problem = `Expected \`table\` to be a name such as lock_fences or app.lock_fences, got ${inspect(table)}`;
  // JavaScript callers pass anything.
  if (typeof (table as unknown) !== 'string') throw new TypeError(problem);
  if (!/^([A-Za-z_]\w*\.)?[A-Za-z_]\w*$/.test(table)) throw new RangeError(problem);
  return table;
}

/** @throws TypeError or RangeError unless `value` is a whole number from 0 to `most` */
export function checkCount(name: string, value: unknown, most = Infinity): void {
  const accepted = most === Infinity ? '≥ 0' : `from 0 to ${most}`;
  const problem = `Expected \`${name}\` to be a whole number ${accepted}, got ${inspect(value)}`;
  if (typeof value !== 'number') throw new TypeError(problem);
  if (!Number.isInteger(value) || value < 0 || value > most) throw new RangeError(problem);
}
