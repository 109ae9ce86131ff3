import type { OptionDescription, Verb } from '../verb.js';
import { choicesOf, operandChoices, quoted, takesFile } from './words.js';

export function zshScript(verbs: readonly Verb[]): string {
  return `#compdef zklock
# zsh completion of zklock
_zklock() {
  local -a verbs
  verbs=(
${verbs.map(({ name, summary }) => `    ${quoted(`${name}:${summary.replaceAll(':', '\\:')}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'verb' verbs
    _arguments '--help[print the list of verbs]' '--version[print the version]'
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
${verbs.map((verb) => caseOf(verb, verbs)).join('\n')}
  esac
}
if [ "$funcstack[1]" = _zklock ]; then _zklock "$@"; else compdef _zklock zklock; fi
`;
}

function caseOf(verb: Verb, verbs: readonly Verb[]): string {
  const options = Object.entries(verb.options).map(([name, option]) => argumentOf(name, option));
  const operands = verb.operands.map(({ name, isOptional }, index) => {
    const choices = index === 0 ? operandChoices(verb, verbs) : [];
    return quoted(`${isOptional ? '::' : ':'}${name}:${choices.length > 0 ? `(${choices.join(' ')})` : ''}`);
  });
  // Three colons: the words of the command alone, without the operands before it.
  const command = verb.command === undefined ? [] : [quoted('*:::command: _normal')];
  const all = [...options, `'(- *)'{-h,--help}'[print the help]'`, ...operands, ...command];
  return `    ${verb.name})\n      _arguments -S \\\n        ${all.join(' \\\n        ')} ;;`;
}

function argumentOf(name: string, option: OptionDescription): string {
  const text = `[${option.summary.replaceAll(/[[\]:\\]/g, '\\$&')}]${valueOf(option)}`;
  if (option.short === undefined) return quoted(`--${name}${text}`);
  return `${quoted(`(-${option.short} --${name})`)}{-${option.short},--${name}}${quoted(text)}`;
}

function valueOf(option: OptionDescription): string {
  if (option.kind === 'flag') return '';
  const choices = choicesOf(option);
  return `:${option.value}:${takesFile(option) ? '_files' : choices.length > 0 ? `(${choices.join(' ')})` : ''}`;
}
