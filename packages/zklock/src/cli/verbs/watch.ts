import { connectionOptions } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const watch = defineVerb({
  name: 'watch',
  summary: 'show the locks below a path live',
  description: [
    'On a terminal, fills the screen with the locks below PATH, and follows every change. Keys: q leaves, s changes the order (path, most waiters, newest change), the arrow keys and page keys scroll.',
    'Where standard output is no terminal, prints a line for each event: granted, handed-over, released, asked (to release), taken (by force), lost (with its session). Names what it may not read on standard error, or with --json in a line of type incomplete; the exit code is then 70 or 77 when the reader of its output leaves.',
  ],
  operands: [{ name: 'PATH', summary: 'the path below which to look, or one lock' }],
  options: {
    ...connectionOptions,
    json: { kind: 'flag', summary: 'print each event as a line of JSON, also on a terminal' },
  },
  examples: [
    ['zklock watch /locks', 'all locks below /locks'],
    ['zklock watch --json /locks | tee locks.log', 'keep a log of the hand-overs'],
  ],
  run: async (args, io) => (await import('../observe/watch-locks.js')).watchLocks(args, io),
});
