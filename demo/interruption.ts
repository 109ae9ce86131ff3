/**
 * Aborts on Ctrl-C and the like. From then on these signals do nothing: a terminal sends them to the whole process
 * group and npm passes
 * them on once more, while every way out of the demo is bounded in time anyway.
 */
export function interruption(): AbortSignal {
  const aborter = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => aborter.abort(signal));
  return aborter.signal;
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
