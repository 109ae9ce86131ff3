import type { OptionDescription, Verb } from '../verb.js';

/** The option names that a shell offers for a verb, `--help` included. */
export function optionWords(verb: Verb): string[] {
  const short = Object.values(verb.options).flatMap((option) =>
    option.short === undefined ? [] : [`-${option.short}`],
  );
  return [...short, ...Object.keys(verb.options).map((name) => `--${name}`), '-h', '--help'];
}

/** The spellings of the options that take a value, and what the value may be. */
export function valueOptions(verb: Verb): { readonly words: string[]; readonly option: OptionDescription }[] {
  return Object.entries(verb.options)
    .filter(([, { kind }]) => kind !== 'flag')
    .map(([name, option]) => ({
      words: [`--${name}`, ...(option.short === undefined ? [] : [`-${option.short}`])],
      option,
    }));
}

/** The words that the value may be, if they are known. */
export function choicesOf(option: OptionDescription): readonly string[] {
  return option.kind === 'text' ? (option.choices ?? []) : [];
}

export function takesFile(option: OptionDescription): boolean {
  return option.kind !== 'flag' && option.completes === 'file';
}

/** The words that the first operand may be, if they are known. */
export function operandChoices(verb: Verb, verbs: readonly Verb[]): readonly string[] {
  return verb.name === 'help' ? verbs.map(({ name }) => name) : (verb.operands[0]?.choices ?? []);
}

/** In single quotes, as every one of the three shells reads them. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
