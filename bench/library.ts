/**
 * The built package, which is what users run. The loader that these files run through names every closure anew each
 * time that it is made, which costs
 * time and memory that no user pays.
 */
const built: string = new URL('../dist/index.js', import.meta.url).href;

export const { InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphore, LockClient } = (await import(
  built
)) as typeof import('../src/index.ts');
