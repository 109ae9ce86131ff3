import { connectionOptions } from '../connect/connection.js';

/** The options of `zklock run`. */
export const runOptions = {
  nonblock: {
    kind: 'flag',
    short: 'n',
    summary: 'do not wait: fail at once if the lock is not free, and after 5 s without a server',
  },
  wait: { kind: 'seconds', short: 'w', value: 'SECS', summary: 'wait at most so long, connecting included' },
  'conflict-exit-code': {
    kind: 'integer',
    short: 'E',
    value: 'CODE',
    min: 0,
    max: 255,
    summary: 'the exit code if the lock is not acquired in time; 75 by default',
  },
  command: { kind: 'text', short: 'c', value: 'STRING', summary: 'run STRING by /bin/sh -c, instead of CMD' },
  shared: { kind: 'flag', summary: 'take the read lock of a read/write lock; others may hold it too' },
  exclusive: {
    kind: 'flag',
    short: 'x',
    summary: 'take the write lock of a read/write lock, which excludes --shared',
  },
  slots: { kind: 'integer', value: 'N', min: 1, summary: 'let N holders in at once: PATH is a semaphore' },
  weight: {
    kind: 'integer',
    value: 'N',
    min: 1,
    max: 10,
    summary: 'heavier waiters are granted first; every user of PATH must give a weight',
  },
  lease: {
    kind: 'seconds',
    value: 'SECS',
    minMs: 1,
    summary: 'end the command if it holds the lock longer than this',
  },
  grace: {
    kind: 'seconds',
    value: 'SECS',
    summary:
      'the time between TERM and KILL if the lock is about to be lost; a sixth of the session timeout by default, at most a quarter',
  },
  scope: {
    kind: 'flag',
    summary: 'run the command in a control group of its own (Linux, cgroup 2), which no process leaves',
  },
  'on-lost': {
    kind: 'text',
    value: 'CMD',
    summary: 'run CMD by /bin/sh -c when the lock was lost, after the command is dead',
  },
  data: {
    kind: 'text',
    value: 'STR',
    summary: 'the data of the znode, for others to read; host and process id by default',
  },
  acl: {
    kind: 'text',
    value: 'WHO',
    choices: ['open', 'creator-only'],
    summary: 'who may change the znodes of the lock: everybody, by default, or only the accounts of this command',
  },
  ...connectionOptions,
  json: { kind: 'flag', summary: 'report each event as a line of JSON on standard error' },
  verbose: { kind: 'flag', short: 'v', summary: 'report each event as a line of text on standard error' },
} as const;

export type RunOptions = typeof runOptions;
