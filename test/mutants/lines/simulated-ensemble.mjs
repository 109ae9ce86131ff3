import { tests } from '../named-tests.mjs';

/** The simulated ensemble is kinder to the clients than a real one, or breaks a promise of the real one. */
export const mutants = [
  {
    name: 'a simulated follower touches a session with each request that it forwards',
    file: 'lab/ensemble/leadership.ts',
    find: 'this.#unprepared.push({ request: message.request, link });',
    replace: `this.sessions.touch(message.request.connection.sessionId, message.request.connection.timeoutMs, this.#settings.clock.now());
        this.#unprepared.push({ request: message.request, link });`,
    tests: tests('simulation/ensemble-sessions', 'is not extended by a request that a follower forwards'),
  },
  {
    name: 'a simulated follower does not report which sessions it heard from',
    file: 'lab/ensemble/client-desk.ts',
    find: 'this.#touched.set(sessionId, timeoutMs);',
    replace: '',
    tests: tests('simulation/ensemble-sessions', 'while its client pings a follower'),
  },
  {
    name: 'a simulated follower never notices that it is cut off',
    file: 'lab/ensemble/member.ts',
    find: 'if (leftMs <= 0) this.stop();',
    replace: 'if (leftMs <= 0) return;',
    tests: tests('simulation/ensemble-sessions', 'has heard nothing from the leader for syncLimit ticks'),
  },
  {
    name: 'a simulated leader that nobody follows goes on',
    file: 'lab/ensemble/leadership.ts',
    find: `this.member.stop();
        return;`,
    replace: '',
    tests: tests('simulation/ensemble', 'but commit nothing, until it notices'),
  },
  {
    name: 'a simulated leader commits without a majority',
    file: 'lab/ensemble/leadership.ts',
    find: 'return count >= this.#settings.quorum;',
    replace: 'return count >= 1;',
    tests: tests('simulation/ensemble', 'commits nothing without a majority', 'but commit nothing, until it notices'),
  },
  {
    name: 'a simulated sync overtakes the proposals before it',
    file: 'lab/ensemble/leadership.ts',
    find: 'if (behind) this.#pendingSyncs',
    replace: 'if (behind && false) this.#pendingSyncs',
    tests: tests('simulation/ensemble', 'lets a sync of a follower wait'),
  },
  {
    name: 'a simulated session that has moved can be used at its old member',
    file: 'lab/ensemble/leader-sessions.ts',
    find: 'if (session) session.owner = owner;',
    replace: 'if (session) session.owner = undefined;',
    tests: tests('simulation/ensemble-sessions', 'keeps its old connection at another follower'),
  },
  {
    name: 'a new simulated leader starts sessions with another timeout',
    file: 'lab/ensemble/leadership.ts',
    find: 'this.sessions.open(id, timeoutMs, undefined, settings.clock.now());',
    replace: 'this.sessions.open(id, 4_000, undefined, settings.clock.now());',
    tests: tests('simulation/ensemble-sessions', 'the full timeout that it was created with'),
  },
  {
    name: 'a simulated leader forgets its proposals when it decides the next one',
    file: 'lab/ensemble/outstanding-changes.ts',
    find: 'if (changed === undefined) return this.#tree.get(path);',
    replace: 'if (changed !== null) return this.#tree.get(path);',
    tests: tests('simulation/ensemble', 'decides a write as the writes that are proposed'),
  },
  {
    name: 'a simulated leader forgets the ephemeral znodes that are only proposed',
    file: 'lab/ensemble/outstanding-changes.ts',
    find: 'if (!paths.includes(path)) paths.push(path);',
    replace: '',
    tests: tests('simulation/ensemble', 'the ephemeral znodes that are proposed'),
  },
  {
    name: 'a simulated member accepts a client from its own future',
    file: 'lab/ensemble/client-desk.ts',
    find: 'request.lastZxid > this.#member.replica.zxid',
    replace: 'request.lastZxid < 0',
    tests: tests('simulation/ensemble', 'refuses a client without a reply'),
  },
  {
    name: 'a simulated ensemble elects the member with the oldest log',
    file: 'lab/ensemble/election.ts',
    find: 'if (one.log.length !== other.log.length) return one.log.length > other.log.length;',
    replace: 'if (one.log.length !== other.log.length) return one.log.length < other.log.length;',
    tests: tests('simulation/ensemble-faults', 'agrees on one history'),
  },
  {
    name: 'a simulated member keeps the proposals of a deposed leader',
    file: 'lab/ensemble/member.ts',
    find: 'this.log.length = common;',
    replace: '',
    tests: tests('simulation/ensemble-faults', 'agrees on one history'),
  },
  {
    name: 'a simulated member serves clients while it looks for a leader',
    file: 'lab/ensemble/client-desk.ts',
    find: "incoming.is !== 'frame' || at === 'looking' || at === 'down'",
    replace: "incoming.is !== 'frame'",
    tests: tests('simulation/ensemble', 'refuses connections during the election'),
  },
  {
    name: 'a simulated member leaves a session on its old connection',
    file: 'lab/ensemble/client-desk.ts',
    find: 'this.#bySession.get(sessionId)?.close();',
    replace: '',
    tests: tests('simulation/ensemble-sessions', 'when it is resumed at the same member'),
  },
  {
    name: 'a cut between simulated members loses messages',
    file: 'lab/virtual/lane.ts',
    find: 'this.#underWay.push(',
    replace: 'if (this.#isHeld) return;\n    this.#underWay.push(',
    tests: tests('simulation/ensemble', 'until the follower has caught up'),
  },
];
