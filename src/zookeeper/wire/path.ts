import { LockError } from '../../support/lock-error.js';
import { expected, shown } from '../../support/validate.js';

/**
 * Returns `path` if ZooKeeper accepts it: a string that starts with `/` and does not end with it (except the root `/`),
 * without empty, `.` or `..` names, without control characters, surrogates (so no emoji), private-use characters and
 * U+FFF0 to U+FFFF, of at most 8192 bytes. The rules and their wording are those of ZooKeeper's PathUtils. Curator's
 * copy of the rules accepts the first and the last character of each refused range, which the server then refuses.
 *
 * @param option the name of the option or the parameter, for the error
 * @throws InvalidPathError
 * @example
 * validatePath('/locks/orders'); // '/locks/orders'
 * validatePath('/locks/');       // InvalidPathError: Path must not end with / character
 */
export function validatePath(path: unknown, option = 'path'): string {
  if (typeof path !== 'string')
    throw new InvalidPathError(path, `${expected(option, 'a string that starts with /', path)}${adviceOn(path)}`);
  const fault = faultOf(path);
  if (fault === undefined) return path;
  throw new InvalidPathError(path, option === 'path' ? fault : `${fault}, in \`${option}\``);
}

/**
 * Returns `path` if it can be the path of a lock: a valid path, and not the root, because the lock's own znode is
 * created, listed and deleted.
 *
 * @throws InvalidPathError
 * @example
 * lockPath('/locks/orders/42'); // '/locks/orders/42'
 */
export function lockPath(path: unknown): string {
  const valid = validatePath(path);
  if (valid === '/') throw new InvalidPathError(valid, 'A lock needs a znode of its own, so it cannot be the root');
  return valid;
}

/**
 * The ancestors of a valid path and the path itself, in the order in which they must be created. The root is left out,
 * because it always exists.
 *
 * @example
 * parentsOf('/a/b/c'); // ['/a', '/a/b', '/a/b/c']
 * parentsOf('/');      // []
 */
export function parentsOf(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '');
  return names.map((_, index) => `/${names.slice(0, index + 1).join('/')}`);
}

/** The path of the znode right above `path`, which is not the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/**
 * The path of the child `name` of `base`. Neither is validated.
 *
 * @example
 * join('/locks', 'lock-0000000000'); // '/locks/lock-0000000000'
 * join('/', 'locks');                // '/locks'
 */
export function join(base: string, name: string): string {
  return base === '/' ? `/${name}` : `${base}/${name}`;
}

/** The path is invalid for ZooKeeper or for this library. */
export class InvalidPathError extends LockError {
  static {
    this.prototype.name = 'InvalidPathError';
  }

  constructor(path: unknown, why: string) {
    super(
      'ERR_LOCK_INVALID_PATH',
      `Invalid path ${shown(typeof path === 'string' ? path.slice(0, 200) : path)}: ${why}`,
    );
  }
}

/**
 * ZooKeeper limits only the whole request, to about 1 MB. For a longer request it closes the connection, which fails
 * all other requests on it, again and again.
 */
const longestPathBytes = 8_192;

function faultOf(path: string): string | undefined {
  if (Buffer.byteLength(path) > longestPathBytes)
    return `Path must be at most ${longestPathBytes} bytes, got ${Buffer.byteLength(path)}`;
  if (path === '') return 'Path length must be > 0';
  if (!path.startsWith('/')) return 'Path must start with / character';
  if (path === '/') return undefined;
  if (path.endsWith('/')) return 'Path must not end with / character';
  let start = 1;
  for (const name of path.slice(1).split('/')) {
    const fault = faultOfName(name, start);
    if (fault !== undefined) return fault;
    start += name.length + 1;
  }
  return undefined;
}

function faultOfName(name: string, start: number): string | undefined {
  if (name === '') return `empty node name specified @${start}`;
  if (name === '.' || name === '..') return `relative paths not allowed @${start + name.length - 1}`;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    if (unit === 0) return `null character not allowed @${start + index}`;
    if (isRefused(unit)) return `invalid character @${start + index}`;
  }
  return undefined;
}

// UTF-16 code units, not code points: the server sees both halves of a surrogate pair, and refuses each.
function isRefused(unit: number): boolean {
  return unit <= 0x1f || (unit >= 0x7f && unit <= 0x9f) || (unit >= 0xd800 && unit <= 0xf8ff) || unit >= 0xfff0;
}

/** A hold, a lock and a participant have a path, and are often passed instead of it. */
function adviceOn(value: unknown): string {
  const hasPath = typeof value === 'object' && value !== null && 'path' in value && typeof value.path === 'string';
  return hasPath ? '. Pass its `path`' : '';
}
