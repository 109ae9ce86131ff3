import type { Verb } from '../verb.js';
import { choicesOf, operandChoices, optionWords, takesFile, valueOptions } from './words.js';

/** Written for bash 3.2 and later, without the package bash-completion. */
export function bashScript(verbs: readonly Verb[]): string {
  return `# bash completion of zklock
_zklock() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} verb=\${COMP_WORDS[1]} index
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${verbs.map(({ name }) => name).join(' ')} --help --version' -- "$word"))
    return
  fi
  for ((index = 2; index < COMP_CWORD; index++)); do
    if [ "\${COMP_WORDS[index]}" = -- ]; then
      if [ "$before" = -- ]; then COMPREPLY=($(compgen -c -- "$word")); else COMPREPLY=($(compgen -f -- "$word")); fi
      return
    fi
  done
  case $verb in
${verbs.map((verb) => caseOf(verb, verbs)).join('\n')}
  esac
}
complete -o filenames -F _zklock zklock
`;
}

function caseOf(verb: Verb, verbs: readonly Verb[]): string {
  const values = valueOptions(verb).map(({ words, option }) => {
    const choices = choicesOf(option);
    const reply = takesFile(option)
      ? 'COMPREPLY=($(compgen -f -- "$word")); '
      : choices.length > 0
        ? `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$word")); `
        : '';
    return `        ${words.join('|')}) ${reply}return ;;`;
  });
  const words = [...optionWords(verb), ...operandChoices(verb, verbs)].join(' ');
  return [
    `    ${verb.name})`,
    ...(values.length > 0 ? ['      case $before in', ...values, '      esac'] : []),
    `      COMPREPLY=($(compgen -W '${words}' -- "$word")) ;;`,
  ].join('\n');
}
