import { tests } from '../named-tests.mjs';

/** A lock that its client never forgets. */
export const mutants = [
  {
    name: 'a lock is never forgotten after a failed acquire',
    file: 'src/mutex/shared-lock.ts',
    find: 'this.#uses -= 1;\n    this.#endUse();',
    replace: 'this.#uses -= 1;',
    tests: tests('behaviour/identity/forgotten', 'is empty after an acquire that times out'),
  },
  {
    name: 'a lock is never forgotten after its release',
    file: 'src/mutex/shared-lock.ts',
    find: 'this.#holds.delete(hold);\n    this.#endUse();',
    replace: 'this.#holds.delete(hold);',
    tests: tests('behaviour/identity/forgotten', 'is empty after an acquire outside of contexts'),
  },
  {
    name: 'lost holds that are never released accumulate without a limit',
    file: 'src/mutex/lost-holds.ts',
    find: 'if (this.#forgets.size <= mostLost || oldest === undefined) return;',
    replace: 'return;',
    tests: tests('behaviour/identity/forgotten', 'is bounded if'),
  },
  {
    name: 'lost leases that are never released accumulate without a limit',
    file: 'src/semaphore/leases.ts',
    find: 'if (this.#holds.has(hold)) this.#limits.lost.remember(hold, () => this.#forget(hold));',
    replace: '',
    tests: tests('behaviour/identity/forgotten', 'is bounded if expired leases of semaphores are never released'),
  },
  {
    name: 'a sticky lock is never forgotten after it was given up',
    file: 'src/sticky/sticky-lock.ts',
    find: '      this.#shared.leave();\n',
    replace: '',
    tests: tests('behaviour/identity/forgotten', 'is empty after a sticky lock that is given up'),
  },

  {
    name: 'close() leaves the znodes of a session that has no connection',
    file: 'src/zookeeper/session/session-shell.ts',
    find: 'if (!this.#options.resume && (this.life.epoch === 0 || this.#session.znodes === 0))',
    replace: 'if (!this.#options.resume)',
    tests: tests('behaviour/connection/close', 'waits for a lock waits for a connection because of its znode'),
  },
  {
    name: 'close() leaves a znode whose create was not answered',
    file: 'src/internals/znode/lock-node.ts',
    find: "const unknown: NodeState = { at: 'unknown', isOnServers: true };",
    replace: "const unknown: NodeState = { at: 'unknown', isOnServers: false };",
    tests: tests('behaviour/connection/close', 'has sent a create without a reply'),
  },
  {
    name: 'close() in an outage leaves a znode that is no longer needed',
    file: 'src/internals/znode/lock-node.ts',
    find: 'this.#end(this.#state.isOnServers ? left : gone);',
    replace: 'this.#end(gone);',
    tests: tests(
      'behaviour/connection/close',
      'is released in the outage, before the call',
      'is released in the outage, after the call',
      'waits for a lock waits for a connection',
    ),
  },
  {
    name: 'each term of a candidate leaves a listener on the signal of its caller',
    file: 'src/election/leader-election.ts',
    find: 'stopping.dispose();',
    replace: '',
    tests: tests('behaviour/election', 'leaves no listener on the signal'),
  },
  {
    name: 'each connection attempt listens to a shared signal by itself, of which Node warns',
    file: 'src/client/first-connection.ts',
    find: 'abortHubs.onAbort(signal, fail)',
    replace: 'new abortHubs.constructor().onAbort(signal, fail)',
    tests: tests('behaviour/options/signals', 'ends a connection attempt'),
  },
  {
    name: 'a sticky lock leaves its watch on the servers after its idle time',
    file: 'src/sticky/sticky-tenure.ts',
    find: "'children', this.#contended, { forget: true });",
    replace: "'children', this.#contended, { forget: false });",
    tests: tests('behaviour/sticky', 'leaves no watch on the servers'),
  },
  {
    name: 'the limit of a semaphore stays in use after several leases were released',
    file: 'src/semaphore/leases.ts',
    find: 'if (this.#holds.delete(hold)) this.#limits.leave(this.path);',
    replace: 'if (this.#holds.delete(hold) && this.#holds.size === 0) this.#limits.leave(this.path);',
    tests: tests('behaviour/semaphore/limits', 'after several leases were released'),
  },
];
