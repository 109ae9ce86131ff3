import { inspect } from 'node:util';
import { isError } from '../../support/error-text.js';
import { isPlainObject } from '../../support/validate.js';
import type { Credential } from '../../zookeeper/connection/connection-options.js';
import type { SaslAccount } from '../../zookeeper/wire/digest-md5.js';

/**
 * Replaces secrets in what is logged: in texts, in errors and their causes, and in the fields of plain objects. The
 * library writes no secret into its texts. But the errors of servers, of Node.js and of the application's own functions
 * are logged too, and nobody knows what they contain.
 */
export function redaction(secrets: readonly string[]): <T>(value: T) => T {
  const inText = (text: string): string =>
    secrets.reduce((safe, secret) => safe.replaceAll(secret, '[redacted]'), text);
  const redacted = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return inText(value);
    if (isError(value)) return hasSecret(value, inText) ? safeError(value, inText) : value;
    if (depth > 0 && isPlainObject(value))
      return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, redacted(field, depth - 1)]));
    return value;
  };
  if (secrets.length === 0) return (value) => value;
  return <T>(value: T): T => redacted(value, 3) as T;
}

/**
 * The secrets of a client's credentials: each of them, and the password of `user:password`. A password of less than four
 * characters is only found together with its user, because it may be a part of any word.
 */
export function secretsOf(auth: readonly Credential[], sasl?: SaslAccount): string[] {
  const withPassword = (credentials: string, password: string): string[] =>
    password.length < shortest ? [credentials] : [credentials, password];
  const ofSasl = sasl === undefined ? [] : withPassword(`${sasl.username}:${sasl.password}`, sasl.password);
  const all = auth.flatMap(({ credentials }) =>
    withPassword(credentials, credentials.slice(credentials.indexOf(':') + 1)),
  );
  // The longer one first: otherwise a part of it would be replaced, and the rest would stay.
  return [...all, ...ofSasl].filter((secret) => secret !== '').sort((a, b) => b.length - a.length);
}

const shortest = 4;

/** Loggers also show what an error carries: its own fields, its causes, and the errors of an AggregateError. */
function hasSecret(error: Error, inText: (text: string) => string): boolean {
  const texts = [error.message, error.stack ?? '', ...[error, ...causesOf(error)].map(shownInFull)];
  return texts.some((text) => inText(text) !== text);
}

/** As `inspect`, but calls no code of the application. */
function shownInFull(value: unknown): string {
  return inspect(value, { customInspect: false, depth: deepest, maxStringLength: Infinity, maxArrayLength: Infinity });
}

/** A copy that keeps the name, the code, and the stack. Its causes are left out, because they may be anything. */
function safeError(error: Error, inText: (text: string) => string): Error {
  const { code } = error as { code?: unknown };
  const safe = new Error(inText(error.message));
  safe.name = error.name;
  safe.stack = inText(error.stack ?? '');
  return code === undefined ? safe : Object.assign(safe, { code });
}

function causesOf(error: Error): unknown[] {
  const causes: unknown[] = [];
  for (let { cause } = error; cause !== undefined && causes.length < mostCauses;) {
    causes.push(cause);
    cause = isError(cause) ? cause.cause : undefined;
  }
  return causes;
}

const mostCauses = 10;

/** How many levels of fields are searched. An error may carry a socket, which would take long to show in full. */
const deepest = 4;
