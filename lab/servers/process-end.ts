type Cleanup = () => void;

const cleanups = new Set<Cleanup>();
const deadlySignals = { SIGHUP: 129, SIGTERM: 143 } as const;

/**
 * Calls the synchronous `cleanup` when this process ends, crashes included. Returns a function that removes it again.
 */
export function whenProcessEnds(cleanup: Cleanup): () => void {
  if (cleanups.size === 0) listen();
  cleanups.add(cleanup);
  return () => {
    cleanups.delete(cleanup);
    if (cleanups.size === 0) unlisten();
  };
}

function listen(): void {
  process.on('exit', cleanUp);
  for (const signal of signals()) process.on(signal, exitIfAlone);
}

function unlisten(): void {
  process.off('exit', cleanUp);
  for (const signal of signals()) process.off(signal, exitIfAlone);
}

function cleanUp(): void {
  for (const cleanup of cleanups) cleanup();
}

/**
 * These signals end a process without an 'exit' event unless there is a listener. With other listeners, those decide
 * whether the process ends.
 */
function exitIfAlone(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(deadlySignals[signal as keyof typeof deadlySignals]);
}

function signals(): (keyof typeof deadlySignals)[] {
  return Object.keys(deadlySignals) as (keyof typeof deadlySignals)[];
}
