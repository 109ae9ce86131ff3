import { environmentOf, exitCodesOf, spellingOf, summaryOf, usageOf } from './help-text.js';
import type { Verb } from './verb.js';

/** The manual page zklock(1), for man. */
export function manualPage(verbs: readonly Verb[], version: string): string {
  const lines = [
    `.TH ZKLOCK 1 "" "zookeeper-fair-lock ${version}" "User Commands"`,
    '.SH NAME',
    'zklock \\- fair locks between machines, on ZooKeeper',
    '.SH SYNOPSIS',
    ...verbs.flatMap((verb, index) => [...(index > 0 ? ['.br'] : []), escaped(usageOf(verb))]),
    '.SH VERBS',
    ...verbs.flatMap((verb) => [`.SS ${escaped(`zklock ${verb.name}`)}`, ...verbSection(verb)]),
    '.SH ENVIRONMENT',
    ...[...new Map(verbs.flatMap(environmentOf))].flatMap(([name, meaning]) => entry(name, meaning)),
    '.SH EXIT STATUS',
    ...exitStatus(verbs).flatMap(([code, meaning]) => entry(code, meaning)),
  ];
  return `${lines.join('\n')}\n`;
}

function verbSection(verb: Verb): string[] {
  return [
    ...verb.description.flatMap((paragraph, index) => [...(index > 0 ? ['.PP'] : []), escaped(paragraph)]),
    ...verb.operands.flatMap(({ name, summary }) => entry(name, summary)),
    ...Object.entries(verb.options).flatMap(([name, option]) =>
      entry(spellingOf(name, option).trim(), summaryOf(option)),
    ),
    ...verb.examples.flatMap(([line, meaning]) => ['.PP', escaped(`${meaning}:`), '.IP', `\\fB${escaped(line)}\\fR`]),
  ];
}

/** A code that means something else for one verb has a line of its own for it. */
function exitStatus(verbs: readonly Verb[]): [string, string][] {
  return [...new Map(verbs.flatMap(exitCodesOf).map(([code, meaning]) => [`${code}${meaning}`, [code, meaning]]))]
    .map(([, row]) => row as [string, string])
    .sort(([a], [b]) => parseInt(a, 10) - parseInt(b, 10));
}

function entry(term: string, text: string): string[] {
  return ['.TP', `\\fB${escaped(term)}\\fR`, escaped(text)];
}

/** troff reads a backslash, and a point or quote at the beginning of a line, as commands. A bare `-` may become a dash. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/, '\\&');
}
