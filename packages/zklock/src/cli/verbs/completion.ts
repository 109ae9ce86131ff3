import { shells } from '../completion/shell.js';
import { defineVerb } from '../verb.js';

export const completion = defineVerb({
  name: 'completion',
  summary: 'print the completion script of a shell',
  description: ['Prints a script that lets the shell complete the verbs and options of zklock.'],
  operands: [{ name: 'SHELL', summary: 'bash, zsh or fish', choices: shells }],
  options: {},
  examples: [
    ['source <(zklock completion bash)', 'complete in this bash; write the line into ~/.bashrc to keep it'],
    ['zklock completion zsh > "${fpath[1]}/_zklock"', 'complete in every new zsh'],
    ['zklock completion fish > ~/.config/fish/completions/zklock.fish', 'complete in every new fish'],
  ],
  async run({ operands: [shell] }, io) {
    const [{ completionScript }, { allVerbs }] = await Promise.all([
      import('../completion/completion-script.js'),
      import('../verbs.js'),
    ]);
    io.stdout.write(completionScript(shell as (typeof shells)[number], await allVerbs()));
    return 0;
  },
});
