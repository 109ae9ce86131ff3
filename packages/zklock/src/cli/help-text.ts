import { exitCodeTexts } from './exit-code.js';
import type { OptionDescription, Verb } from './verb.js';
import { commonEnvironment } from './common-environment.js';

/** The help of one verb. */
export function helpText(verb: Verb): string {
  const sections = [
    `Usage: ${usageOf(verb)}`,
    ...verb.description.map((paragraph) => wrapped(paragraph)),
    ...section(
      'Operands',
      verb.operands.map(({ name, summary }) => [name, summary]),
    ),
    ...section('Options', [...optionRows(verb), ['-h, --help', 'print this text']]),
    ...section('Environment', environmentOf(verb)),
    ...section('Exit codes', exitCodesOf(verb)),
    `Examples:\n${verb.examples.map(([line, meaning]) => `  # ${meaning}\n  ${line}`).join('\n\n')}`,
  ];
  return `${sections.join('\n\n')}\n`;
}

/** The list of verbs. */
export function overviewText(verbs: readonly Verb[]): string {
  const sections = [
    'Usage: zklock VERB [OPTION…] [OPERAND…]',
    'Fair locks between machines, on ZooKeeper, for shells and operators.',
    ...section(
      'Verbs',
      verbs.map(({ name, summary }) => [name, summary]),
    ),
    'zklock VERB --help has the options and examples of a verb. zklock --version prints the version.',
  ];
  return `${sections.join('\n\n')}\n`;
}

/** `zklock run [OPTION…] PATH -- CMD ARG…` */
export function usageOf(verb: Verb): string {
  const operands = verb.operands.map(({ name, isOptional }) => (isOptional ? `[${name}]` : name));
  const options = Object.keys(verb.options).length > 0 ? ['[OPTION…]'] : [];
  const command = verb.command === undefined ? [] : [`-- ${verb.command}`];
  return ['zklock', verb.name, ...options, ...operands, ...command].join(' ');
}

/** The spellings of an option, such as `-w, --wait SECS`. */
export function spellingOf(name: string, option: OptionDescription): string {
  const value = option.kind === 'flag' ? '' : ` ${option.value}`;
  return `${option.short === undefined ? '    ' : `-${option.short}, `}--${name}${value}`;
}

export function optionRows(verb: Verb): [string, string][] {
  return Object.entries(verb.options).map(([name, option]) => [spellingOf(name, option), summaryOf(option)]);
}

export function summaryOf(option: OptionDescription): string {
  return option.kind === 'text' && option.choices ? `${option.summary}: ${option.choices.join(', ')}` : option.summary;
}

/** A verb without options connects to no server: it neither reads the environment nor fails in many ways. */
export function environmentOf(verb: Verb): readonly (readonly [string, string])[] {
  return [...('servers' in verb.options ? commonEnvironment : []), ...(verb.environment ?? [])];
}

export function exitCodesOf(verb: Verb): readonly (readonly [string, string])[] {
  const all = [...exitCodeTexts, ...(verb.exitCodes ?? [])];
  const own = new Map(all); // the meaning that the verb gives replaces the common one
  return [...own].sort(([a], [b]) => parseInt(a, 10) - parseInt(b, 10));
}

function section(title: string, rows: readonly (readonly [string, string])[]): string[] {
  if (rows.length === 0) return [];
  const width = Math.min(widestLeft, Math.max(...rows.map(([left]) => left.length)));
  const lines = rows.map(([left, right]) => {
    const text = wrapped(right, ' '.repeat(width + 4)).trimStart();
    return left.length > width ? `  ${left}\n${' '.repeat(width + 4)}${text}` : `  ${left.padEnd(width)}  ${text}`;
  });
  return [`${title}:\n${lines.join('\n')}`];
}

const widestLeft = 26;
const widestLine = 100;

function wrapped(text: string, indent = ''): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length > indent.length && line.length + word.length >= widestLine) {
      lines.push(line);
      line = indent;
    }
    line += line.length > indent.length ? ` ${word}` : word;
  }
  return [...lines, line].join('\n');
}
