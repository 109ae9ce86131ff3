import { createHash } from 'node:crypto';
import { expected } from '../support/validate.js';

/**
 * One name of a znode for any two strings, whatever is in them, so that a lock of anything can have a path: `orders:42`. Different pairs have different names.
 *
 * What a URL would have to escape is escaped as in one, so that `decodeURIComponent` reads it; a half of a surrogate pair, which is no character, as `%uD800`. A
 * name that would be longer than 255 characters is cut off, and ends in `::` and the SHA-256 of the whole instead.
 *
 * @param type what kind of thing it is
 * @param target which one of them
 * @throws TypeError for something that is not a string
 * @example
 * lockKey('orders', '42');    // 'orders:42'
 * lockKey('file', '/etc/ü');  // 'file:%2Fetc%2F%C3%BC'
 * new InterProcessMutex(client, `/locks/${lockKey('file', name)}`);
 */
export function lockKey(type: string, target: string): string {
  const key = `${escaped('type', type)}:${escaped('target', target)}`;
  if (key.length <= longest) return key;
  // A name in full has a single colon.
  const end = `::${createHash('sha256').update(key).digest('hex')}`;
  return `${key.slice(0, longest - end.length)}${end}`;
}

const longest = 255;
const loneSurrogate = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function escaped(what: string, text: unknown): string {
  if (typeof text !== 'string') throw new TypeError(expected(what, 'a string', text));
  const halves = text.match(loneSurrogate) ?? [];
  const [first = '', ...others] = text.split(loneSurrogate).map(encodeURIComponent);
  return others.reduce((done, next, index) => `${done}%u${(halves[index]?.charCodeAt(0) ?? 0).toString(16).toUpperCase()}${next}`, first);
}
