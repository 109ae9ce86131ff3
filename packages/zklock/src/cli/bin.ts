/** The two functions that `bin/zklock.cjs` uses: the entry of the bundle. */
export { processIo } from './io.js';
export { main } from './main.js';
