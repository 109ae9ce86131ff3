/**
 * Preloaded into a child process: counts the AsyncLocalStorages that are created there, beginning before the library is
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

// Uses defineProperty instead of an assignment, because the property is a getter on Node 24.
Object.defineProperty(asyncHooks, 'AsyncLocalStorage', { value: CountedStorage });
syncBuiltinESMExports();

export function storagesCreated(): number {
  return count;
}
