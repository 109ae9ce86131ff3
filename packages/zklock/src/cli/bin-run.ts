import type { Io } from './io.js';
import { runVerb } from './run-verb.js';
import { run } from './verbs/run.js';

export { processIo } from './io.js';

/** As `main` of `bin.ts`, for command lines whose first word is `run`: the entry of a bundle without the other verbs. */
export function main([, ...words]: readonly string[], io: Io): Promise<number> {
  return runVerb(run, words, io);
}
