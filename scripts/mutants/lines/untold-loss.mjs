import { tests } from '../named-tests.mjs';

/** A loss that its holder does not learn of. */
export const mutants = [
  {
    name: 'a re-entrant hold that outlives the lease around it',
    file: 'src/mutex/mutex-acquirer.ts',
    find: '.begin(leaseTermsOf(call.options), held.leases)',
    replace: '.begin(leaseTermsOf(call.options))',
    tests: tests('behaviour/leases/re-entry', 'when it is the outer one'),
  },
  {
    name: 'the holder gets no notice that its znode was deleted',
    file: 'src/internals/grant.ts',
    find: '      node.onGone(() => this.#znodeGone()),\n',
    replace: '',
    tests: tests('behaviour/losses', 'told within one event'),
  },
  {
    name: 'the deletion of a znode is reported before its session is judged',
    file: 'src/internals/grant.ts',
    find: 'this.node.session.isAlive(); this.#lose(',
    replace: 'this.#lose(',
    tests: tests('behaviour/losses', 'frozen for longer than its session'),
  },
  {
    name: "a heartbeat that finds a hold's znode deleted notifies nobody",
    file: 'src/zookeeper/prover.ts',
    find: "holdings.filter((_, index) => errors[index]?.is('NO_NODE'));",
    replace: "holdings.filter((_, index) => errors[index]?.is('NO_AUTH'));",
    tests: tests('behaviour/losses', 'told by the next heartbeat'),
  },
  {
    name: 'a znode that only a heartbeat finds deleted blocks the waiters of its process',
    file: 'src/zookeeper/prover.ts',
    find: 'for (const holding of deleted) holding.znodeDeleted();',
    replace: '',
    tests: tests('behaviour/losses', 'makes room for the waiter behind it'),
  },
  {
    name: 'a session that connects beyond the deadline of its holds counts as connected',
    file: 'src/zookeeper/session-life.ts',
    find: 'if (life.holds > 0 && now >= overdueAt(life)) return',
    replace: 'if (life.holds > 1e9) return',
    tests: tests('simulation/stalls', 'never tells that it is reconnected'),
  },
  {
    name: 'the end of a session is not reported to its holds',
    file: 'src/zookeeper/session-shell.ts',
    find: "loseAll([...holdings], why === 'expired' ? 'session-expired' : 'session-deadline');",
    replace: '',
    tests: tests('behaviour/session-loss', 'reported by the server aborts the holder’s signal'),
  },
  {
    name: 'the signal of a hold does not abort',
    file: 'src/mutex/hold.ts',
    find: 'this.#stops.push(this.shared.grant.onLost((error) => this.#lost(error)));',
    replace: '',
    tests: tests('behaviour/hold', 'aborts with the LockLostError'),
  },
  {
    name: 'the client waits for a silent server without a limit',
    file: 'src/zookeeper/wake-up.ts',
    find: 'return owed.owedSince !== undefined && now >= silentAt(life, owed.owedSince);',
    replace: 'return now < 0;',
    tests: tests('behaviour/connection/silence', 'of a half-open connection'),
  },
  {
    name: 'the heartbeats end with the first one that is refused',
    file: 'src/zookeeper/prover.ts',
    find: 'written(isAnswered);',
    replace: 'if (isAnswered) written(isAnswered);',
    tests: tests('behaviour/races', 'one heartbeat that is answered with an error'),
  },
  {
    name: 'a retry loop cannot see that the lock was lost while its job failed',
    file: 'src/mutex/with-hold.ts',
    find: 'if (error !== loss) noteLoss(error, loss, hold, path);',
    replace: '',
    tests: tests('behaviour/with-lock', 'and the error shows the loss'),
  },
];
