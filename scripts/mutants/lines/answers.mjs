import { tests } from '../named-tests.mjs';

/** An answer that reveals too much, or too little. */
export const mutants = [
  {
    name: 'the error of a missing permission shows the password',
    file: 'src/client/access-rights.ts',
    find: "${JSON.stringify(credentials.slice(0, credentials.indexOf(':')))}",
    replace: '${JSON.stringify(credentials)}',
    tests: tests('unit/access-rights', 'never by its password'),
  },
  {
    name: 'an ACL locks its own creator out',
    file: 'src/client/access-rights.ts',
    find: 'if (missing.length === 0) return;',
    replace: 'return;',
    tests: tests('unit/access-rights', 'no lock works below such a znode'),
  },
  {
    name: 'an ACL for another account whose name has the same length counts as our own',
    file: 'src/client/access-rights.ts',
    find: 'return id === `${user}${hash}` || (id.startsWith(user) && id.length !== user.length + hash.length);',
    replace: 'return id.length >= user.length + hash.length;',
    tests: tests('unit/access-rights', 'all rights to another account is refused'),
  },
  {
    name: 'a timeout names a holder that is gone',
    file: 'src/internals/known-holder.ts',
    find: 'if (holder === undefined || !session.watches.has(holder.path)) return undefined;',
    replace: 'if (holder === undefined) return undefined;',
    tests: tests('behaviour/timeouts', 'names no holder that may have gone'),
  },
  {
    name: 'an outage is reported as contention',
    file: 'src/internals/timeout-error.ts',
    find: 'forMs >= longSilenceMs || ',
    replace: '',
    tests: tests('behaviour/timeouts', 'reports an outage of more than a second'),
  },
  {
    name: 'contention is reported as an outage',
    file: 'src/internals/timeout-error.ts',
    find: 'forMs >= waitedMs * mostOfTheWait',
    replace: 'forMs >= 0',
    tests: tests('behaviour/timeouts', 'if a reply is missing only for a moment'),
  },
  {
    name: 'a timeout claims contention although nobody was read',
    file: 'src/internals/timeout-error.ts',
    find: "holder !== undefined || progress === 'behind-others'",
    replace: 'true',
    tests: tests('behaviour/timeouts', 'before the answers about its place'),
  },
  {
    name: 'a timeout says that others are ahead after they have left',
    file: 'src/internals/attempt.ts',
    find: "if (reason !== 'recheck') this.#deadline.progress = 'asking';",
    replace: '',
    tests: tests('behaviour/timeouts', 'before the next list'),
  },
  {
    name: 'a caller of a sticky lock is told that nobody was read, whatever its znode has learnt',
    file: 'src/sticky/sticky-lock.ts',
    find: '      deadline.follows = tenure.deadline;\n',
    replace: '',
    tests: tests('behaviour/timeouts', 'of a sticky lock behind three'),
  },
  {
    name: 'a session without a proof counts as a place that was not read',
    file: 'src/internals/attempt.ts',
    find: "const { session } = this.#node;\n    this.#deadline.progress = 'first';",
    replace: 'const { session } = this.#node;',
    tests: tests('behaviour/timeouts', 'while its session is not proven'),
  },
  {
    name: 'contention between jobs of one process reads as a forgotten release',
    file: 'src/internals/timeout-error.ts',
    find: "own.some(({ isOfLiveJob }) => isOfLiveJob) ? 'contention' : 'held-by-this-process'",
    replace: "'held-by-this-process'",
    tests: tests('behaviour/timeouts', 'names another job of this process'),
  },
  {
    name: 'an outage is counted from the beginning of the previous one',
    file: 'src/client/outage-log.ts',
    find: '    this.#outage = undefined;\n',
    replace: '',
    tests: tests('behaviour/connection/outage-log', 'counts each outage from its own start'),
  },
];
