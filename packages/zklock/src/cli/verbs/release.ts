import { connectionOptions } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const release = defineVerb({
  name: 'release',
  summary: 'take a lock from its holder',
  description: [
    'First the holder is told: zklock run kills its command, and a program that uses the library finds its hold lost. When the holder has released, or after the time of --wait, its znode is deleted, and the next waiter is granted the lock.',
    'A holder that does not run, or that uses another library, does not notice the loss. Then its job and the next one may run at the same time.',
  ],
  operands: [{ name: 'PATH', summary: 'the lock, or the znode of one participant' }],
  options: {
    wait: {
      kind: 'seconds',
      short: 'w',
      value: 'SECS',
      summary: 'how long the holder may take to release; 5 by default',
    },
    ...connectionOptions,
    json: { kind: 'flag', summary: 'print the result as JSON' },
  },
  examples: [
    ['zklock release /locks/nightly', 'free a lock whose job hangs'],
    ['zklock release --wait 30 /locks/nightly', 'give its holder half a minute'],
  ],
  run: async (args, io) => (await import('../take-from-holder.js')).takeFromHolder(args, io),
});
