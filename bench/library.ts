/**
 * The built package, because that is what users run. The loader that runs these files gives every closure its name anew
 * each time it is created, which costs time and memory that no user pays.
 */
const built: string = new URL('../dist/zookeeper-fair-lock.js', import.meta.url).href;

export const { InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphore, LockClient } = (await import(
  built
)) as typeof import('../src/index.ts');
