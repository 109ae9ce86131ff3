import { defineVerb } from '../verb.js';

export const man = defineVerb({
  name: 'man',
  summary: 'print the manual page',
  description: [
    'Prints the manual page zklock(1) in the format of man. npm installs it with the package, if the package is installed globally.',
  ],
  operands: [],
  options: {},
  examples: [
    ['zklock man | man -l -', 'read the page'],
    ['zklock man > /usr/local/share/man/man1/zklock.1', 'install the page by hand'],
  ],
  async run(_args, io) {
    const [{ manualPage }, { allVerbs }] = await Promise.all([import('../manual-page.js'), import('../verbs.js')]);
    io.stdout.write(manualPage(await allVerbs(), io.version()));
    return 0;
  },
});
