import { printable, printableJson } from './printable.js';

/**
 * Throws a TypeError or RangeError that names the option, the value and the accepted values.
 *
 * @param ifInfinite what to do instead of giving Infinity
 */
export function expectDuration(option: string, value: unknown, ifInfinite = ''): asserts value is number {
  const advice = value === Infinity ? ifInfinite : '';
  expectNumber(option, value, 'a finite number of milliseconds ≥ 0', (ms) => ms >= 0 && ms < Infinity, advice);
}

export function expectPositive(option: string, value: unknown): asserts value is number {
  expectNumber(option, value, 'a finite number of milliseconds > 0', (ms) => ms > 0 && ms < Infinity);
}

export function expectInteger(
  option: string,
  value: unknown,
  { min, max = Infinity }: { readonly min: number; readonly max?: number },
): asserts value is number {
  const accepted = max === Infinity ? `an integer ≥ ${min}` : `a whole number from ${min} to ${max}`;
  expectNumber(option, value, accepted, (number) => Number.isSafeInteger(number) && number >= min && number <= max);
}

/** @param accepted the text for the values that `isAccepted` accepts */
export function expectNumber(
  option: string,
  value: unknown,
  accepted: string,
  isAccepted: (value: number) => boolean,
  advice = '',
): asserts value is number {
  if (typeof value !== 'number') throw new TypeError(expected(option, accepted, value));
  if (!isAccepted(value)) throw new RangeError(expected(option, accepted, value) + advice);
}

export function expectOneOf<T extends string>(
  option: string,
  value: unknown,
  accepted: readonly T[],
): asserts value is T {
  if (!(accepted as readonly unknown[]).includes(value)) {
    throw new TypeError(expected(option, `one of ${accepted.map((one) => `'${one}'`).join(', ')}`, value));
  }
}

export function expectFunction(option: string, value: unknown): void {
  if (typeof value !== 'function') throw new TypeError(expected(option, 'a function', value));
}

/** For a method that an application may take from its object, as in `const { release } = hold`. */
export function expectThis(isThis: boolean, call: string): void {
  if (!isThis)
    throw new TypeError(
      `Expected ${call} to be called on its object, got a call of the method alone. Write ${call}, or pass () => ${call}`,
    );
}

export function expectMethod(option: string, value: unknown, method: string): void {
  const owner = (value ?? {}) as Record<string, unknown>;
  if (typeof owner[method] !== 'function')
    throw new TypeError(expected(option, `an object with a method \`${method}\``, value));
}

/**
 * Accepts a signal of any class, because the signal of a polyfill or of another realm is not an instance of this
 * realm's class.
 */
export function expectSignal(option: string, value: unknown): asserts value is AbortSignal {
  if (!isSignal(value)) throw new TypeError(expected(option, 'an AbortSignal', value));
}

function isSignal(value: unknown): boolean {
  const signal = value as Partial<AbortSignal> | null;
  return (
    typeof signal === 'object' &&
    signal !== null &&
    typeof signal.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function'
  );
}

/**
 * Returns a copy of the options. Each option is read once, so later changes to the caller's object have no effect. A
 * misspelt option, or an AbortSignal in the place of the options, is refused, because otherwise the call would silently
 * lack the option and wait without end.
 *
 * @throws TypeError unless `options` is a plain object with only known options
 */
export function expectOptions<T>(what: string, options: T, known: readonly string[]): T {
  if (!isPlainObject(options))
    throw new TypeError(
      `${expectedKind(`${what} options`, `a plain object with ${known.join(', ')}`, options)}${adviceOn(options, known)}`,
    );
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(
      `Unknown option \`${printable(unknown)}\` of ${what}: accepted are ${known.join(', ')}${adviceOn(options, known)}`,
    );
  }
  const copy: Record<string, unknown> = {};
  for (const option of known) if (Object.hasOwn(options, option)) copy[option] = options[option];
  return copy as T;
}

/**
 * True for an object with only its own properties: an object literal or parsed JSON, of any realm. Jest and `node:vm`
 * run code in realms of their own.
 */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as object | null;
  if (prototype === null || prototype === Object.prototype) return true;
  // For an object that inherits from another object without a prototype, only the end of the chain looks the same.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf');
}

/** Advice for the values that callers most often pass instead of the options. */
function adviceOn(options: unknown, known: readonly string[]): string {
  if (!known.includes('signal') || typeof options !== 'object' || options === null) return '';
  if (isSignal(options)) return ': pass it as { signal }';
  return isSignal((options as { signal?: unknown }).signal) && !isPlainObject(options)
    ? ': pass its signal as { signal }'
    : '';
}

export function expected(option: string, accepted: string, value: unknown): string {
  return `Expected \`${option}\` to be ${accepted}, got ${shown(value)}`;
}

/** As `expected`, for a value that may be a password by mistake: shows only the kind of a text. */
export function expectedKind(option: string, accepted: string, value: unknown): string {
  return typeof value === 'string'
    ? `Expected \`${option}\` to be ${accepted}, got a string`
    : expected(option, accepted, value);
}

/** A value for a message. Of an object only the class or the keys, because the values may be secrets. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return printableJson(value);
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'object' && value !== null) return shownObject(value);
  if (typeof value === 'bigint') return `${String(value)}n`;
  return printable(String(value));
}

/** Shows only the class or the keys, because the values may be secrets. */
function shownObject(value: object): string {
  const { constructor } = value as { constructor?: unknown };
  const kind = typeof constructor === 'function' ? constructor.name : '';
  if (kind !== 'Object' && kind !== '') return `${/^[AEIOU]/i.test(kind) ? 'an' : 'a'} ${kind}`;
  if (!isPlainObject(value)) return 'an object that inherits from another one';
  const keys = Object.keys(value).map((key) => printableJson(key.slice(0, 30)));
  if (keys.length === 0) return 'an empty object';
  return `an object with ${keys.slice(0, 5).join(', ')}${keys.length > 5 ? ', …' : ''}`;
}
