import { runOptions } from '../run/run-options.js';
import { defineVerb } from '../verb.js';

export const run = defineVerb({
  name: 'run',
  summary: 'run a command while holding a lock',
  description: [
    'Waits for the lock at PATH, runs the command, and releases the lock when the command and every process of its session have ended. The exit code is the command’s own.',
    'The command gets the standard input, output and error of zklock, and a session of its own. INT, TERM, HUP, QUIT, USR1, USR2 and WINCH are passed on to all processes of that session. A signal during the wait gives up the place in the queue.',
    'If the connection to ZooKeeper fails, the session and its descendants get TERM, and after the time of --grace KILL, so that they are dead before any other client can be granted the lock. Then the exit code is 79.',
  ],
  operands: [{ name: 'PATH', summary: 'the lock’s znode, such as /locks/nightly' }],
  command: 'CMD ARG…',
  options: runOptions,
  environment: [
    ['ZKLOCK_PATH', 'set for the command: PATH'],
    ['ZKLOCK_NODE', 'set for the command: the znode that holds the lock'],
    ['ZKLOCK_FENCE', 'set for the command: the fencing token, which grows with every holder'],
  ],
  exitCodes: [
    ['0–255', 'the exit code of the command; 128 + n if signal n ended it'],
    ['75', 'the lock was not acquired in time; -E sets another code'],
    ['79', 'the lock was lost, or about to be lost: the command was ended'],
    ['126', 'the command cannot be executed'],
    ['127', 'the command was not found'],
    ['128 + n', 'signal n arrived during the wait'],
  ],
  examples: [
    [
      'zklock run -n /locks/nightly -- /usr/local/bin/backup --full',
      'one host of many runs the job; the others skip it',
    ],
    ['zklock run -w 60 /locks/deploy -- ./deploy.sh', 'wait a minute for the lock'],
    ['zklock run --slots 3 /semaphores/import -c "gzip -d < data.gz | import"', 'at most three at once, with a shell'],
    ['zklock run --grace 3 --on-lost "logger lock lost" /locks/mail -- ./send-mail', 'be told if the lock is lost'],
  ],
  run: async (args, io) => (await import('../run/run-with-lock.js')).runWithLock(args, io),
});
