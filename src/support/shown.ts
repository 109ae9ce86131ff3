/**
 * Lets `console.log` and `util.inspect` show the objects of a class as their `toJSON` describes them, and nothing else:
 * the rest are insides, and may be credentials.
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

/** Known by this name to Node.js, Deno and Bun. */
const inspectCustom = Symbol.for('nodejs.util.inspect.custom');

/**
 * What JSON has no form for, as text: a bigint, and an error. Other values, and what they contain, have to know
 * themselves.
 */
export function jsonOf(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, jsonOfValue(value)]));
}

/** As `jsonOf`, of one value. */
export function jsonOfValue(value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  // A LockError, also of another copy of this package, knows itself.
  if (!(value instanceof Error) || 'toJSON' in value) return value;
  return { name: value.name, message: value.message };
}
