import { connectionOptions } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const revoke = defineVerb({
  name: 'revoke',
  summary: 'ask the holder of a lock to release it',
  description: [
    'Writes a request into the znode of the holder. A command of zklock run gets TERM, and may end when it likes. A program that uses the library or Curator gets the request if it has asked to be told. Nobody is forced: see zklock release.',
    'Prints the path of the znode that was asked. If nobody holds the lock, only standard error says so.',
  ],
  operands: [{ name: 'PATH', summary: 'the lock, or the znode of one participant' }],
  options: {
    ...connectionOptions,
    json: { kind: 'flag', summary: 'print the result as JSON' },
  },
  examples: [
    ['zklock revoke /locks/nightly', 'the job that holds the lock gets TERM'],
    ['zklock revoke /locks/nightly && zklock run /locks/nightly -- ./urgent', 'take a turn as soon as it has ended'],
  ],
  run: async (args, io) => (await import('../take-from-holder.js')).askHolder(args, io),
});
