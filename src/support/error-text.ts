/**
 * What an error says, for the text of another one. A name with several addresses fails with an AggregateError, whose
 * own message is empty.
 */
export function errorText(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(errorText).join('; ');
  if (!(error instanceof Error)) return String(error);
  return error.message === '' ? error.name : error.message;
}
