import type { Verb } from './verb.js';

/**
 * The verbs in the order of the help. Each is loaded only when it is needed: `zklock run` must not pay for the others.
 */
const loaders: Readonly<Record<string, () => Promise<Verb>>> = {
  run: async () => (await import('./verbs/run.js')).run,
  ls: async () => (await import('./verbs/ls.js')).ls,
  status: async () => (await import('./verbs/status.js')).status,
  watch: async () => (await import('./verbs/watch.js')).watch,
  check: async () => (await import('./verbs/check.js')).check,
  console: async () => (await import('./verbs/console.js')).webConsole,
  revoke: async () => (await import('./verbs/revoke.js')).revoke,
  release: async () => (await import('./verbs/release.js')).release,
  completion: async () => (await import('./verbs/completion.js')).completion,
  man: async () => (await import('./verbs/man.js')).man,
  help: async () => (await import('./verbs/help.js')).help,
};

export const verbNames: readonly string[] = Object.keys(loaders);

/** The verb of that name, if there is one. */
export async function verbOf(name: string): Promise<Verb | undefined> {
  return Object.hasOwn(loaders, name) ? loaders[name]?.() : undefined;
}

export function allVerbs(): Promise<Verb[]> {
  return Promise.all(Object.values(loaders).map((load) => load()));
}
