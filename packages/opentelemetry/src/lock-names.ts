import { warnOf } from '../../../src/support/no-context.js';
import { shown } from '../../../src/support/validate.js';

/** The name of every lock whose path has no name of its own. */
const other = 'other';

/** After so many names, each further name is `other`. */
const mostNames = 100;

/** See {@link InstrumentOptions.lockName}. The number of its names is bounded, whatever paths there are. */
export function defaultLockName(): (path: string) => string {
  const names = new Set<string>();
  return (path) => {
    const name = path.split('/').map(nameOfPart).join('/');
    if (names.has(name)) return name;
    if (names.size >= mostNames) return other;
    names.add(name);
    return name;
  };
}

/** The type of `user:42`, as lockKey writes it, stays: types are few, and targets are many. */
function nameOfPart(part: string): string {
  const [type = '', target] = part.split(':', 2);
  // An escape of lockKey, such as `%C3%BC`, is a letter.
  if (target !== undefined) return `${/\d/.test(type.replace(escapes, '')) ? '*' : type}:*`;
  return /\d/.test(part) ? '*' : part;
}

const escapes = /%(?:u[\dA-F]{4}|[\dA-F]{2})/g;

/**
 * The application's function, which must not throw into a tracing channel: that would be an uncaught exception. Its
 * first error becomes a process warning.
 */
export function guardedLockName(lockName: (path: string) => unknown): (path: string) => string {
  let hasWarned = false;
  return (path) => {
    try {
      const name = lockName(path);
      if (typeof name === 'string') return name;
      throw new TypeError(`Expected the result of \`lockName()\` of instrument to be a string, got ${shown(name)}`);
    } catch (error) {
      if (!hasWarned) warnOf(error);
      hasWarned = true;
      return other;
    }
  };
}
