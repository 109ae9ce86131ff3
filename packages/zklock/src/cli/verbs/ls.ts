import { connectionOptions, jsonOption } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const ls = defineVerb({
  name: 'ls',
  summary: 'list the locks below a path',
  description: [
    'Lists every lock below PATH, of each kind and of each client: mutexes, read/write locks, semaphores, locks with weights and elections of this library and of Java’s Curator, and the locks of go-zookeeper and kazoo. A lock without holders and waiters is listed only if its kind is known: a semaphore.',
    'SINCE is the age of the holder’s znode after ≤, because the znodes do not show when the lock was granted.',
  ],
  operands: [{ name: 'PATH', summary: 'the path below which to look; / for everything' }],
  options: { ...connectionOptions, json: jsonOption },
  examples: [
    ['zklock ls /', 'all locks of the servers'],
    ["zklock ls --json /locks | jq -r '.locks[] | select(.waiterCount > 10) | .path'", 'the locks that many wait for'],
  ],
  run: async (args, io) => (await import('../observe/list-locks.js')).listLocks(args, io),
});
