import type { Verb } from '../verb.js';
import { bashScript } from './bash.js';
import { fishScript } from './fish.js';
import type { Shell } from './shell.js';
import { zshScript } from './zsh.js';

export function completionScript(shell: Shell, verbs: readonly Verb[]): string {
  return scripts[shell](verbs);
}

const scripts: Readonly<Record<Shell, (verbs: readonly Verb[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};
