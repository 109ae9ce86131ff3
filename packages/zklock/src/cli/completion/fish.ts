import type { OptionDescription, Verb } from '../verb.js';
import { choicesOf, operandChoices, takesFile, valueOptions } from './words.js';

export function fishScript(verbs: readonly Verb[]): string {
  const lines = [
    '# fish completion of zklock',
    'complete -c zklock -f',
    'complete -c zklock -n __fish_use_subcommand -l help -d "print the list of verbs"',
    'complete -c zklock -n __fish_use_subcommand -l version -d "print the version"',
    ...verbs.map(({ name, summary }) => `complete -c zklock -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`),
    ...verbs.flatMap((verb) => linesOf(verb, verbs)),
  ];
  return `${lines.join('\n')}\n`;
}

function linesOf(verb: Verb, verbs: readonly Verb[]): string[] {
  const start = `complete -c zklock -n "__fish_seen_subcommand_from ${verb.name}"`;
  const choices = operandChoices(verb, verbs);
  return [
    ...Object.entries(verb.options).map(([name, option]) => `${start} ${optionOf(name, option)}`),
    `${start} -s h -l help -d "print the help"`,
    ...(choices.length > 0 ? [`${start} -a ${quoted(choices.join(' '))}`] : []),
    ...(verb.command === undefined ? [] : [`${start} -a ${quoted(`(${commandAfter(verb)})`)}`]),
  ];
}

/**
 * Skips `zklock`, the verb, its operands, and the values of its options. fish takes leading words with two hyphens as
 * options of the function itself, so the short ones come first.
 */
function commandAfter(verb: Verb): string {
  const words = valueOptions(verb).flatMap((option) => option.words);
  return `__fish_complete_subcommand --fcs-skip=${2 + verb.operands.length} ${words.sort().reverse().join(' ')}`;
}

function optionOf(name: string, option: OptionDescription): string {
  const short = option.short === undefined ? '' : `-s ${option.short} `;
  const choices = choicesOf(option);
  const value =
    option.kind === 'flag'
      ? ''
      : takesFile(option)
        ? ' -r -F'
        : ` -x${choices.length > 0 ? ` -a ${quoted(choices.join(' '))}` : ''}`;
  return `${short}-l ${name}${value} -d ${quoted(option.summary)}`;
}

/** fish reads a backslash in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
