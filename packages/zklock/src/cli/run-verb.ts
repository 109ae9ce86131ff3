import { commandErrorText } from './own-words.js';
import { printableLines } from '../../../../src/support/printable.js';
import type { Io } from './io.js';
import { UsageError } from './usage-error.js';
import type { Verb } from './verb.js';

/**
 * Runs one verb. Never rejects.
 *
 * @param words the words after the verb's name
 * @returns the exit code
 */
export async function runVerb(verb: Verb, words: readonly string[], io: Io): Promise<number> {
  try {
    if (asksForHelp(words)) {
      const { helpText } = await import('./help-text.js');
      return print(io, helpText(verb));
    }
    const { parseArguments } = await import('./parse-arguments.js');
    return await verb.run(parseArguments(verb, words), io);
  } catch (error) {
    return fail(io, `zklock ${verb.name}`, error);
  }
}

export function print(io: Io, text: string): number {
  io.stdout.write(text);
  return 0;
}

/** Prints the error that ended a program, and returns its exit code. */
export async function fail(io: Io, program: string, error: unknown): Promise<number> {
  const { exitCodeOf } = await import('./failure.js');
  const code = exitCodeOf(error);
  const advice = error instanceof UsageError ? `\nTry: ${program} --help` : '';
  io.stderr.write(`${program}: ${printableLines(commandErrorText(error))}${advice}\n`);
  return code;
}

/** The words behind `--` are another program's. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  return words.slice(0, end < 0 ? words.length : end).some((word) => word === '--help' || word === '-h');
}
