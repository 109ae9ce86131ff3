import { types } from 'node:util';

/**
 * True for an error of any realm. Under Jest, and in a context of `node:vm`, an error of Node is no instance of the
 * `Error` that this file sees.
 */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}

/**
 * The message of an error, for the text of another error. For a host name with several addresses, Node throws an
 * AggregateError whose own message is empty: each of its errors is shown once. An application may throw a value that has no text.
 */
export function errorText(error: unknown): string {
  try {
    return textOf(error);
  } catch {
    return 'something that cannot be shown';
  }
}

function textOf(error: unknown): string {
  if (!isError(error)) return String(error);
  const { message, name, errors }: { message: unknown; name: unknown; errors?: unknown } = error;
  if ((error instanceof AggregateError || name === 'AggregateError') && Array.isArray(errors) && errors.length > 0)
    return [...new Set(errors.map(errorText))].join('; ');
  return String(message === '' ? name : message);
}
