import { connectionOptions, jsonOption } from '../connect/connection.js';
import { defineVerb } from '../verb.js';

export const check = defineVerb({
  name: 'check',
  summary: 'check whether the servers suit locks, and say what to do',
  description: [
    'Checks each server of the connect string, the members of the ensemble, their versions, the limit of connections, whether the connected server accepts a second connection of this host and resumes sessions, the session timeout, whether the servers know the requests that locks need, the latency of reads and writes, the clocks, the rights at PATH, and whether the servers remove the znodes of unused locks. Each line is ok, warn, fail or unknown, and says what to do.',
    'The rights are tried in transactions that always fail, so they change nothing. For the clocks, a znode is created and deleted at PATH, or at its nearest ancestor that exists, unless that may be a lock.',
    'The exit code is 0 if nothing failed; warnings do not count.',
  ],
  operands: [{ name: 'PATH', summary: 'where the locks are, or will be; / by default', isOptional: true }],
  options: { ...connectionOptions, json: jsonOption },
  examples: [
    ['zklock check --servers zk1,zk2,zk3 /locks', 'before the first lock'],
    ['zklock check --json | jq \'.findings[] | select(.level != "ok")\'', 'only what is wrong'],
  ],
  run: async (args, io) => (await import('../check/run-checks.js')).runChecks(args, io),
});
