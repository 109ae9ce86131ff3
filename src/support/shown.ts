import { inspect } from 'node:util';
import { isError } from './error-text.js';

/**
 * Makes `console.log` and `util.inspect` show the objects of a class by their `toJSON` only. The other fields are
 * internal, and may be credentials.
 *
 * @param name the name of the class, which a bundler may shorten
 */
export function showByJson(kind: { readonly prototype: { toJSON(this: never): object } }, name: string): void {
  Object.defineProperty(kind.prototype, inspectCustom, {
    value(
      this: { toJSON(): object },
      depth: number,
      options: object,
      inspect?: (value: object, options: object) => string,
    ): string {
      if (depth < 0 || inspect === undefined) return `[${name}]`;
      return `${name} ${inspect(this.toJSON(), { ...options, depth })}`;
    },
    configurable: true,
    writable: true,
  });
}

/** Node.js, Deno and Bun know the symbol by this name. */
const inspectCustom = Symbol.for('nodejs.util.inspect.custom');

/**
 * Converts the values that JSON has no form for to text: a bigint, an error, and an object of the application that JSON
 * cannot show, such as the reason of an abort.
 */
export function jsonOf(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, jsonOfValue(value)]));
}

/** As `jsonOf`, for one value. */
export function jsonOfValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  // A LockError has its own `toJSON`, also if it comes from another copy of this package.
  if (isError(value) && !('toJSON' in value)) return { name: value.name, message: value.message };
  return typeof value !== 'object' || isJson(value) ? value : inspect(value);
}

function isJson(value: object | null): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** Gives a plain object the `toJSON` of {@link jsonOf}. Otherwise it stays the same, also for `console.log`. */
export function withJson<T extends object>(record: T): T {
  return Object.defineProperty(record, 'toJSON', { value: () => jsonOf(record) });
}
