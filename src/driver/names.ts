/** The last sequence number before the server's counter, a signed 32-bit integer, starts again at -2147483648. */
export const SEQUENCE_MAX = 2 ** 31 - 1;

/**
 * The name to create a znode with, so that its uuid finds it if the server's answer is lost. The server appends the
 * sequence number. The form is Curator's withProtection().
 *
 * @example
 * protectedPrefix('0b7e…', 'lock-'); // '_c_0b7e…-lock-'
 */
export function protectedPrefix(uuid: string, lockName: string): string {
  return `${protectionOf(uuid)}${lockName}`;
}

/**
 * The uuid in a protected name, in the form in which it is written there: Curator and this library write dashes,
 * go-zookeeper writes 32 digits without dashes. Undefined for a name that is not protected.
 *
 * @example
 * uuidOf('_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-lock-0000000004'); // '6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a'
 */
export function uuidOf(name: string): string | undefined {
  return protectedName.exec(name)?.[1];
}

/**
 * The child that was created with {@link protectedPrefix} and this uuid, or undefined. Only its ephemeralOwner shows
 * whether it belongs to the present session.
 *
 * @example
 * const ghost = findProtected(children, uuid);
 */
export function findProtected(children: readonly string[], uuid: string): string | undefined {
  const protection = protectionOf(uuid);
  return children.find((name) => name.startsWith(protection));
}

/**
 * Marks the uuid of a znode that may stay while no caller uses its lock. The mark is version 8 of RFC 9562, which is
 * free for such uses. A client of this library sees from the names which holders may give the lock up when asked. Other
 * clients see an ordinary uuid.
 *
 * @example
 * stickyUuid('6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a'); // '6f1c2f7e-8a1e-8a53-9d7e-2b1f0c9d8e7a'
 */
export function stickyUuid(uuid: string): string {
  return `${uuid.slice(0, versionAt)}8${uuid.slice(versionAt + 1)}`;
}

/**
 * True if the name was made with {@link stickyUuid}. For a mutex: the znode may stay while no caller uses it. For a
 * semaphore: the lease was taken together with all other leases of its call, as this library does. Java's leases are
 * not marked, and the owner of such a lease may be waiting for more.
 */
export function hasMarkedUuid(name: string): boolean {
  return uuidOf(name)?.[versionAt] === '8';
}

const versionAt = 14;

/**
 * The sequence number that the server appended to `lockName`: an int32, negative once the counter has overflowed.
 * Undefined if the name does not end in `lockName` and a number in the server's format, `%010d`.
 *
 * @example
 * sequenceOf('_c_0b7e…-lock-0000000042', 'lock-'); // 42
 * sequenceOf('lock--2147483648', 'lock-');         // -2147483648
 * sequenceOf('lock-42', 'lock-');                  // undefined: no server wrote this
 */
export function sequenceOf(name: string, lockName: string): number | undefined {
  const { key } = cutAt(name, lockName);
  const sequence = Number(key) | 0;
  return key === printedByServer(sequence) ? sequence : undefined;
}

/**
 * The part of a name by which it is sorted: the text after the **last** `lockName`, or the whole name if it does not
 * contain `lockName`. Uuids and prefixes do not count. The rule is Curator's standardFixForSorting.
 *
 * @example
 * sortKey('_c_0b7e…-lock-0000000042', 'lock-'); // '0000000042'
 */
export function sortKey(name: string, lockName: string): string {
  return cutAt(name, lockName).key ?? name;
}

/**
 * Compares two sort keys. It uses neither localeCompare nor the numbers, because Java compares UTF-16 code units, as <
 * does here. Any other order, even a better one (numbers after an overflow), would name another holder than the Java
 * clients of the same queue do.
 */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** Returns a copy sorted by {@link sortKey}, the first in the queue first. */
export function sortedByKey(children: readonly string[], lockName: string): string[] {
  return children
    .map((name) => ({ name, key: sortKey(name, lockName) }))
    .sort((a, b) => compareKeys(a.key, b.key))
    .map(({ name }) => name);
}

/** @throws RangeError if `ours` is not in `sorted` */
export function placeOf(sorted: readonly string[], ours: string): number {
  const index = sorted.indexOf(ours);
  if (index < 0) throw new RangeError(`${ours} is not among the ${sorted.length} children in \`sorted\``);
  return index;
}

/**
 * The children that no client of this kind of lock created, so that their order is unknown. A child is native if it
 * consists of, from end to start:
 * - the sequence number in the server's format (see {@link sequenceOf}),
 * - one of `lockNames`,
 * - nothing more; or a uuid and a dash, as in the lock recipe of ZooKeeper's documentation (`guid-lock-`); or the same
 *   behind `_c_`, as Curator, go-zookeeper and this library write it. A uuid is 32 hexadecimal digits, in Curator's
 *   groups of 8-4-4-4-12 or without dashes.
 *
 * All other names are foreign: `__READ__`, `__WRIT__` and `lease-` of other recipes, kazoo's `…__lock__`, and also
 * `my-lock-0000000001`, because a client that calls its lock `my-lock-` sorts our names after all of its own.
 *
 * @example
 * foreignNames(['lock-0000000000', '9d3a…__lock__0000000001'], 'lock-'); // ['9d3a…__lock__0000000001']
 */
export function foreignNames(children: readonly string[], ...lockNames: readonly string[]): string[] {
  return children.filter((name) => !lockNames.some((lockName) => isNative(name, lockName)));
}

/**
 * True for the last million sequence numbers before the overflow, and for all numbers after it. There the names no
 * longer show the order, because each new child would sort before the holder. The lock must warn, and must list again
 * before any grant.
 *
 * @example
 * if (isSequenceNearOverflow(sequence)) logger.warn(`${path}: recreate this node while nobody uses it`);
 */
export function isSequenceNearOverflow(sequence: number): boolean {
  return sequence < 0 || sequence >= 2 ** 31 - 1_000_000;
}

/**
 * The names that cannot all be right if the next child gets the number `next`: their numbers are not given out yet, or
 * another child has the same number. One changed bit changes one name; a downgrade gives a reader the number of its
 * writer. With more than two such names, something else is the matter: empty.
 *
 * @example
 * doubtfulNames(['_c_0f…-lock-0000000006', '_c_6f…-lock-0000000005'], 6); // ['_c_0f…-lock-0000000006']
 */
export function doubtfulNames(names: readonly string[], next: number): string[] {
  const numbers = new Set<number>();
  const doubtful = names.filter((name) => {
    const number = numberAtEnd(name);
    if (number < 0) return false;
    if (number >= next || numbers.has(number)) return true;
    numbers.add(number);
    return false;
  });
  return names.length > 1 && doubtful.length <= 2 ? doubtful : [];
}

/** The last ten characters as a number; -1 if they are not all digits. */
function numberAtEnd(name: string): number {
  if (name.length < numberLength) return -1;
  let number = 0;
  for (let at = name.length - numberLength; at < name.length; at += 1) {
    const code = name.charCodeAt(at);
    if (!isDigit(code)) return -1;
    number = 10 * number + code - 48;
  }
  return number;
}

const uuidPattern = '[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const protectedName = new RegExp(`^_c_(${uuidPattern})-`, 'i');
const nativeHead = new RegExp(`^(?:(?:_c_)?(?:${uuidPattern})-)?$`, 'i');

function protectionOf(uuid: string): string {
  return `_c_${uuid}-`;
}

function isNative(name: string, lockName: string): boolean {
  return hasCommonForm(name, lockName) || isNativeByPattern(name, lockName);
}

const commonHead = /^_c_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-/;
/** Numbers from 2,000,000,000 may be too large for the server. */
const commonNumber = /[01][0-9]{9}/y;
const headLength = '_c_'.length + 36 + '-'.length;
const numberLength = 10;

/**
 * A fast check for the form that nearly all native names have, because long queues are listed often: a look at a list of
 * 64 names takes 20 µs instead of 32, at 10,000 names 31 ms instead of 40. False proves nothing.
 */
function hasCommonForm(name: string, lockName: string): boolean {
  if (name.length !== headLength + lockName.length + numberLength || !name.startsWith(lockName, headLength))
    return false;
  // If the lock's name ends in a digit, it may occur once more inside the number.
  if (isDigit(lockName.charCodeAt(lockName.length - 1))) return false;
  commonNumber.lastIndex = headLength + lockName.length;
  return commonHead.test(name) && commonNumber.test(name);
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isNativeByPattern(name: string, lockName: string): boolean {
  return sequenceOf(name, lockName) !== undefined && nativeHead.test(cutAt(name, lockName).head);
}

// The width of %010d includes the sign: -1 is printed as -000000001.
function printedByServer(sequence: number): string {
  return sequence < 0 ? `-${String(-sequence).padStart(9, '0')}` : String(sequence).padStart(10, '0');
}

function cutAt(name: string, lockName: string): { head: string; key: string | undefined } {
  const at = name.lastIndexOf(lockName);
  if (at < 0) return { head: name, key: undefined };
  return { head: name.slice(0, at), key: name.slice(at + lockName.length) };
}
