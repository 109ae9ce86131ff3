import { tests } from '../named-tests.mjs';

/** Sessions that have ended. */
export const mutants = [
  {
    name: 'a session is replaced although the servers do not have older data',
    file: 'src/client/successor.ts',
    find: ' || candidate.lastZxid >= old.lastZxid)',
    replace: ')',
    tests: tests('behaviour/connection/older-data', 'the old one goes on with its waiters in place'),
  },
  {
    name: 'a client dials servers with older data without a limit',
    file: 'src/client/lock-client.ts',
    find: 'if (!this.isClosing && session.isRefused && session.epoch > 0) this.#successor.refused(session);',
    replace: '',
    tests: tests('behaviour/connection/older-data', '(wiped) replace the session of a waiter'),
  },
  {
    name: 'a new session beside an overdue one outlives close()',
    file: 'src/client/successor.ts',
    find: 'if (candidate?.epoch === 0) await this.#granted(candidate, Math.min(timeoutMs, grantMs));',
    replace: '',
    tests: tests('behaviour/connection/older-data', 'while it grants the new session'),
  },
  {
    name: 'a session is presumed to be over before its timeout',
    file: 'src/zookeeper/session.ts',
    find: 'return this.#answeredSentAt + this.timeoutMs;',
    replace: 'return -Infinity;',
    tests: tests('behaviour/connection/older-data', 'longer and longer pauses'),
  },
  {
    name: 'the znodes of a replaced session block the queue',
    file: 'src/zookeeper/session.ts',
    find: "return why === 'lost' || why === 'replaced';",
    replace: "return why === 'lost';",
    tests: tests('behaviour/connection/older-data', '(restored from a backup)'),
  },
  {
    name: 'a ghost session is dialled without a limit',
    file: 'src/client/ghost.ts',
    find: 'health !== undefined && isForgotten(health, this.#touchedAt, this.#options.timeoutMs)) this.#end();',
    replace: 'health === null) this.#end();',
    tests: tests('behaviour/connection/lost-session', 'is given up after 1.5 of its timeouts'),
  },
  {
    name: 'servers with older data refuse a ghost session without a reply',
    file: 'src/client/ghost.ts',
    find: 'this.#rounds === 0 ? identity.lastZxid : 0n',
    replace: 'identity.lastZxid',
    tests: tests('behaviour/connection/lost-session', 'is dialled twice on wiped servers'),
  },
  {
    name: 'a ghost session that is closed during an outage gives up before a server answers',
    file: 'src/client/ghost.ts',
    find: '    const { clock, random, timeoutMs } = this.#options;\n    this.#pause',
    replace:
      '    if (this.#isClosing) return this.#end();\n    const { clock, random, timeoutMs } = this.#options;\n    this.#pause',
    tests: tests('behaviour/connection/lost-session', 'is closed by close() as soon as a server answers again'),
  },
  {
    name: 'every length in a ConnectResponse is accepted',
    file: 'src/zookeeper/connect-response.ts',
    find: 'if (passwordLength < 0 || passwordLength > longestPassword)',
    replace: 'if (passwordLength === -2)',
    tests: tests('unit/connect-response', 'with a password of'),
  },
  {
    name: 'a granted timeout of 1 ms is accepted',
    file: 'src/zookeeper/connect-response.ts',
    find: 'if (timeoutMs < shortestTimeoutMs)',
    replace: 'if (timeoutMs < 0)',
    tests: tests('behaviour/connection/hostile', '(with a grant of 1 ms)'),
  },
  {
    name: 'a session changes its id during its life',
    file: 'src/zookeeper/connect-response.ts',
    find: 'if (askedFor !== 0n && sessionId !== askedFor)',
    replace: 'if (askedFor === -1n)',
    tests: tests('behaviour/connection/hostile', 'cannot give the session another id'),
  },
  {
    name: 'a list that is longer than its frame is begun',
    file: 'src/zookeeper/wire.ts',
    find: 'const count = this.#length(4);',
    replace: 'const count = Math.max(0, this.int());',
    tests: tests('unit/wire', 'refuse a list of more texts'),
  },
  {
    name: 'the list of an acquire leaves in a packet of its own',
    file: 'src/zookeeper/connection.ts',
    find: 'void Promise.resolve().then(write);',
    replace: 'write();',
    tests: tests('behaviour/connection/one-packet', 'leave in one write'),
  },
  {
    name: 'an error thrown by a socket handler reaches the process',
    file: 'src/zookeeper/connection.ts',
    find: 'this.drop(error instanceof Error ? error : new Error(String(error)));',
    replace: 'throw error;',
    tests: tests('behaviour/connection/throwing', '(connect) ends the connection', '(close) does not prevent'),
  },
  {
    name: 'an attempt ends before its answer is read',
    file: 'src/zookeeper/connection.ts',
    find: `      clock.afterPoll(() => {
        if (time === 'over') return;`,
    replace: `      ((run: () => void) => run())(() => {
        if (time === 'over') return;`,
    tests: tests('behaviour/connection/handshakes', 'succeeds if its answer lies unread'),
  },
  {
    name: 'an attempt asks for a session after its time',
    file: 'src/zookeeper/connection.ts',
    find: " || time !== 'running'",
    replace: '',
    tests: tests('behaviour/connection/handshakes', 'asks for no session'),
  },
  {
    name: 'a slow server never gets more time',
    file: 'src/zookeeper/connection.ts',
    find: 'if (this.#hasRunOut) this.#unansweredRounds += 1;',
    replace: '',
    tests: tests('behaviour/connection/silence', 'doubles the attempt’s time after each round'),
  },
  {
    name: 'one silent server takes all the time that is left until the deadline',
    file: 'src/zookeeper/attempt-time.ts',
    find: 'leftMs > 0 ? Math.min(lengthMs, leftMs / 2) : lengthMs',
    replace: 'lengthMs',
    tests: tests('unit/attempt-time', 'at most half of what is left'),
  },
];
