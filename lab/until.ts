/** Resolves when an AbortSignal has aborted, with its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  if (signal.aborted) return Promise.resolve(signal.reason);
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }));
}

/**
 * Calls `look` again, at intervals of an event-loop turn and a few milliseconds, until it returns true. Use it only if
 * there is no event to wait for.
 */
export async function until(what: string, look: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs;
  while (!(await look())) {
    if (performance.now() > giveUpAt) throw new Error(`Not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The error that a promise rejects with; fails if it fulfils. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in outcome) return outcome.error as Error;
  throw new Error(`Expected a rejection, got ${String(outcome.value)}`);
}
