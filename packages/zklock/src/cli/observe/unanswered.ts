import { exitCodes } from '../exit-code.js';
import type { Io } from '../io.js';
import { UnansweredError } from './open-board.js';

/** Runs a verb. If the servers stop to answer before it has what it needs, prints that, and returns the exit code 69. */
export async function unlessUnanswered(io: Io, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof UnansweredError)) throw error;
    io.stderr.write(`zklock: ${error.message}\n`);
    return exitCodes.unreachable;
  }
}
