import { createHash } from 'node:crypto';
import { expected } from '../support/validate.js';

/**
 * Returns a znode name for any two strings, whatever characters they contain, so that a lock of anything can have a
 * path: `orders:42`. Different pairs have different names. A number or a bigint has the name of its decimal text: `5`
 * that of `'5'`.
 *
 * Characters that a URL must escape are escaped in the same way, so `decodeURIComponent` reads them. Half of a
 * surrogate pair, which is no character, becomes `%uD800`. A name that would be longer than 255 characters is cut, and
 * ends in `::` and the SHA-256 of the whole name.
 *
 * @param type the kind of thing
 * @param target the one thing of that kind
 * @throws TypeError for anything but a string, a number or a bigint
 * @throws RangeError for a number that is not finite, or so large that it may stand for another one
 * @example
 * lockKey('orders', '42');    // 'orders:42', as lockKey('orders', 42) and lockKey('orders', 42n)
 * lockKey('file', '/etc/ü');  // 'file:%2Fetc%2F%C3%BC'
 * new InterProcessMutex(client, `/locks/${lockKey('file', name)}`);
 */
export function lockKey(type: string | number | bigint, target: string | number | bigint): string {
  const key = `${escaped('type', type)}:${escaped('target', target)}`;
  if (key.length <= longest) return key;
  // A full name has a single colon, so no full name can equal a shortened one.
  const end = `::${createHash('sha256').update(key).digest('hex')}`;
  return `${key.slice(0, longest - end.length)}${end}`;
}

const longest = 255;
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escaped(what: string, value: unknown): string {
  const text = textOf(what, value);
  const halves = text.match(loneSurrogate) ?? [];
  const [first = '', ...others] = text.split(loneSurrogate).map(encodeURIComponent);
  return others.reduce(
    (done, next, index) => `${done}%u${(halves[index]?.charCodeAt(0) ?? 0).toString(16).toUpperCase()}${next}`,
    first,
  );
}

/** A number beyond 2^53 may have been rounded before this call, so that two things would share a lock. */
function textOf(what: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'number') throw new TypeError(expected(what, 'a string, a number or a bigint', value));
  if (!Number.isFinite(value)) throw new RangeError(expected(what, 'a string, a finite number or a bigint', value));
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER)
    throw new RangeError(`${expected(what, 'a number of at most 2^53 - 1', value)}: pass it as a string or a bigint`);
  return String(value);
}
