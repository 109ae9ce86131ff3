import { helpText, overviewText } from '../help-text.js';
import { defineVerb } from '../verb.js';
import { UsageError } from '../usage-error.js';

export const help = defineVerb({
  name: 'help',
  summary: 'print the list of verbs, or the help of one verb',
  description: ['Prints the same text as zklock VERB --help.'],
  operands: [{ name: 'VERB', summary: 'a verb of zklock', isOptional: true }],
  options: {},
  examples: [['zklock help run', 'all options and exit codes of run']],
  async run({ operands: [name] }, io) {
    const { allVerbs, verbOf, verbNames } = await import('../verbs.js');
    if (name === undefined) {
      io.stdout.write(overviewText(await allVerbs()));
      return 0;
    }
    const verb = await verbOf(name);
    if (!verb) throw new UsageError(`Unknown verb ${JSON.stringify(name)}: the verbs are ${verbNames.join(', ')}`);
    io.stdout.write(helpText(verb));
    return 0;
  },
});
