import { connectionOptions, jsonOption } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const status = defineVerb({
  name: 'status',
  summary: 'show the holders and the waiters of a lock',
  description: [
    'Shows the holders and the waiters of the lock at PATH in the order of their grants: the host and process of each, its session, its data, its age, the fencing token of a holder, and whether a sticky holder is idle.',
  ],
  operands: [{ name: 'PATH', summary: 'the lock’s znode, such as /locks/nightly' }],
  options: { ...connectionOptions, json: jsonOption },
  examples: [
    ['zklock status /locks/nightly', 'the holder of the lock, and its age'],
    ["zklock status --json /locks/nightly | jq -r '.holders[0].host'", 'the host of the holder'],
  ],
  run: async (args, io) => (await import('../observe/list-locks.js')).showStatus(args, io),
});
