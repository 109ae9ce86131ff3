/**
 * The message of an error, for the text of another error. For a host name with several addresses, Node throws an
 * AggregateError whose own message is empty.
 */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(errorText).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}
