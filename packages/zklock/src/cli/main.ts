import { exitCodes } from './exit-code.js';
import type { Io } from './io.js';
import { fail, print, runVerb } from './run-verb.js';
import { UsageError } from './usage-error.js';
import { verbNames, verbOf } from './verbs.js';

/**
 * Runs one command line of `zklock`. Never rejects.
 *
 * @param words the words after the program's name
 * @returns the exit code
 */
export async function main(words: readonly string[], io: Io): Promise<number> {
  const [first, ...others] = words;
  try {
    if (first === '--version' || first === '-V') return print(io, `${io.version()}\n`);
    if (first === undefined || first === '--help' || first === '-h') return await helpOnAll(io, first !== undefined);
    const verb = await verbOf(first);
    if (!verb) throw new UsageError(`Unknown verb ${JSON.stringify(first)}: the verbs are ${verbNames.join(', ')}`);
    return await runVerb(verb, others, io);
  } catch (error) {
    return fail(io, 'zklock', error);
  }
}

/** Without any word, the list of verbs is an answer to a mistake. */
async function helpOnAll(io: Io, isAsked: boolean): Promise<number> {
  const [{ overviewText }, { allVerbs }] = await Promise.all([import('./help-text.js'), import('./verbs.js')]);
  const text = overviewText(await allVerbs());
  if (isAsked) return print(io, text);
  io.stderr.write(text);
  return exitCodes.usage;
}
