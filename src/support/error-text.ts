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
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(errorText))].join('; ');
  if (!(error instanceof Error)) return String(error);
  const { message, name }: { readonly message: unknown; readonly name: unknown } = error;
  return String(message === '' ? name : message);
}
