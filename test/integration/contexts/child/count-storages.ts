/**
 * Preloaded into a child process: counts the AsyncLocalStorages that are created there, from before the library is
 * imported.
 */
import asyncHooks, { AsyncLocalStorage } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

let count = 0;

class CountedStorage<T> extends AsyncLocalStorage<T> {
  constructor(...options: []) {
    super(...options);
    count += 1;
  }
}

// By definition, not by assignment: on Node 24 it is a getter.
Object.defineProperty(asyncHooks, 'AsyncLocalStorage', { value: CountedStorage });
syncBuiltinESMExports();

export function storagesCreated(): number {
  return count;
}
