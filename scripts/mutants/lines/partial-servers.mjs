import { tests } from '../named-tests.mjs';

/** Servers that do not have all of ZooKeeper's protocol. */
export const mutants = [
  {
    name: 'a ConnectRequest without the flag `readOnly`, about which servers write a warning',
    file: 'src/zookeeper/opening-messages.ts',
    find: 'connectRequest: notReadOnly(connectRequest)',
    replace: 'connectRequest',
    tests: tests('behaviour/field/granted-late', 'ends with the byte `readOnly`'),
  },
  {
    name: 'a session that was granted in the place of the own one is left to its timeout',
    file: 'src/zookeeper/handshake.ts',
    find: 'this.#closeUnused();\n      return;',
    replace: 'this.link.drop(this.#other);\n      return;',
    tests: tests('behaviour/field/other-session', 'closes the session that its attach was granted'),
  },
  {
    name: 'a session that no server resumes is asked for until its deadline',
    file: 'src/zookeeper/server-traits.ts',
    find: 'if (this.#otherSessions < 2) return false;',
    replace: 'if (this.#otherSessions > 0) return false;',
    tests: tests('behaviour/field/other-session', 'as soon as a second attempt got another session'),
  },
  {
    name: 'a session attaches anew at servers that resume none',
    file: 'src/zookeeper/session.ts',
    find: 'this.#options.traits?.forgetsSessions !== true && ',
    replace: '',
    tests: tests('behaviour/field/other-session', 'attaches no more'),
  },
  {
    name: 'an operation that ends each connection is never recognized',
    file: 'src/zookeeper/server-traits.ts',
    find: 'if (servers.length < enoughTimes) return undefined;',
    replace: 'if (servers.length > 0) return undefined;',
    tests: tests('behaviour/field/unknown-operation', 'createContainer an acquire creates persistent parents'),
  },
  {
    name: 'an operation that ends each connection is sent without end',
    file: 'src/zookeeper/pipeline.ts',
    find: 'if (this.#options.traits.endsConnections(name)) {',
    replace: 'if (false as boolean) {',
    tests: tests('behaviour/field/unknown-operation', 'createContainer an acquire creates persistent parents'),
  },
  {
    name: 'watches that are not renewed at a server without SetWatches',
    file: 'src/zookeeper/watch-renewal.ts',
    find: 'if (renewal.oneByOne) for (const path of renewal.paths(kind)) renewOne(renewal, kind, path);\n    else',
    replace: 'if (renewal.oneByOne) continue;\n    else',
    tests: tests(
      'behaviour/field/unknown-operation',
      'plants its watches by reads instead',
      'a holder is told that its znode was deleted',
    ),
  },
  {
    name: 'a proof that the server does not know is asked for until the deadline',
    file: 'src/internals/attempt.ts',
    find: "if (isZooKeeperError(error, 'UNIMPLEMENTED')) throw error;",
    replace: 'void error;',
    tests: tests('behaviour/field/unknown-operation', 'multi an acquire rejects'),
  },
  {
    name: 'a list behind a sync that the overloaded server has put off is believed',
    file: 'src/zookeeper/pipeline.ts',
    find: 'if (this.#isTooEarly(operation)) {',
    replace: 'if (this.#isTooEarly(operation) && false) {',
    tests: tests('behaviour/field/throttled', 'to sync: a list behind it is asked for again'),
  },
  {
    name: 'a watch that was put off is planted for a waiter that has given up',
    file: 'src/zookeeper/session-watches.ts',
    find: 'if (!watches.has(path)) throw',
    replace: 'if (!watches.has(path) && path === "") throw',
    tests: tests('behaviour/field/throttled', 'to getData: a waiter that gives up meanwhile'),
  },
];
