/**
 * Aborts on Ctrl-C and similar signals. After that, these signals do nothing: a terminal sends them to the whole
 * process group, and npm sends them once more. The demonstration ends within a limited time in any case.
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
