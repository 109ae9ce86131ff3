import { edit } from '../../chaos/broken/builds.mjs';

/** Builds that differ from the library in one line. The mistake shows only within one message. */
export const builds = [
  {
    name: 'hand-over: begun without a connection',
    edits: [
      edit(
        'src/internals/znode/lock-node.ts',
        "this.#state.at !== 'there' ||\n      !this.session.isConnected\n    )",
        "this.#state.at !== 'there'\n    )",
      ),
    ],
  },
  {
    name: 'look-ahead: a waiter takes itself for the third although it is the fourth',
    edits: [
      edit(
        'src/internals/predecessors.ts',
        'this.#areAll = position === paths.length;',
        'this.#areAll = position !== undefined && position <= paths.length + 1;',
      ),
    ],
  },
  {
    name: 'ghost: a session is touched while its lost job runs',
    edits: [
      edit(
        'src/client/session-keeper.ts',
        'if (livesOn.has(why)) this.#lost.add(session);',
        'if (livesOn.has(why)) {\n      this.#lost.add(session);\n      this.#closeGhost(session);\n    }',
      ),
    ],
  },
  {
    name: 'election: the job is not stopped when its caller gives up',
    edits: [
      edit('src/election/leader-election.ts', 'new Stopping(term, campaign.signal)', 'new Stopping(term, undefined)'),
    ],
  },
  {
    name: 'sticky: later callers are served before a remote waiter',
    edits: [
      edit(
        'src/sticky/sticky-tenure.ts',
        "return this.#state.at !== 'over' && this.#contention !== 'some';",
        "return this.#state.at !== 'over';",
      ),
    ],
  },
  {
    name: 'sticky: the next local caller is not served when the session is connected again',
    edits: [
      edit(
        'src/sticky/sticky-tenure.ts',
        '(session.isEnded ? this.#end() : this.#goOn())',
        '(session.isEnded ? this.#end() : undefined)',
      ),
    ],
  },
  {
    name: 'transaction: sent after the release because an attach held it back',
    edits: [edit('src/mutex/transaction/commit.ts', '      beforeWrite: assertValid,\n', '')],
  },
  {
    name: 'election: the candidate campaigns again although its job has failed',
    edits: [
      edit(
        'src/election/leader-election.ts',
        'if (!requeue || term.loss === undefined) throw error;',
        'if (!requeue) throw error;',
      ),
    ],
  },
  {
    name: 'semaphore: a waiter that does not watch the shared count',
    edits: [
      edit(
        'src/semaphore/lease-turn.ts',
        '      if (limit.count) stops.push(limit.count.watch(session, this.#limit, host.clock, look));\n',
        '',
      ),
    ],
  },
  {
    name: 'once: an unanswered create is sent again when the session has attached',
    edits: [
      edit(
        'src/zookeeper/connection/postponed-requests.ts',
        "new Set(['exists', 'getData', 'getChildren2', 'sync'])",
        "new Set(['exists', 'getData', 'getChildren2', 'sync', 'create2'])",
      ),
    ],
  },
  {
    name: 'once: a create that was not found is sent again with the same name',
    edits: [
      edit(
        'src/internals/znode-queue.ts',
        "if (!(await this.findAgain(node, deadline))) return { is: 'not created' };",
        "if (!(await this.findAgain(node, deadline))) {\n              if (session.isEnded) return { is: 'not created' };\n              continue;\n            }",
      ),
    ],
  },
  {
    name: 'hand-over: the znode of the next holder is not checked',
    edits: [
      edit(
        'src/internals/znode/node-deletion.ts',
        'multi(checkExists(next.path), remove(holder.path))',
        'multi(checkExists(holder.path), remove(holder.path))',
      ),
    ],
  },
  {
    name: 'several places: a znode of another process between two of this one is overlooked',
    edits: [
      edit(
        'src/internals/znode/newest.ts',
        'after.sequence === before.sequence + 1',
        'after.sequence > before.sequence',
      ),
    ],
  },
  {
    name: 'sticky: the grants of one znode have no number',
    edits: [edit('src/sticky/sticky-tenure.ts', '      this.#grants += 1n;\n', '')],
  },
  {
    name: 'lease: the znode of a hold whose lease has ended stays',
    edits: [
      edit(
        'src/internals/grant.ts',
        "this.#lose('lease-expired');\n    void this.node.handOverOrDelete();",
        "this.#lose('lease-expired');",
      ),
    ],
  },
  {
    name: 'attach: the requests that were not sent yet are lost when the connections are exchanged',
    edits: [
      edit(
        'src/zookeeper/connection/second-link.ts',
        'this.takeOver(this.#first.takeUnsent());',
        'this.#first.takeUnsent();',
      ),
    ],
  },
  {
    name: 'semaphore: a call that looks again keeps the shared count that it has read first',
    edits: [
      edit(
        'src/semaphore/lease-turn.ts',
        'if (limit !== undefined) this.#limit = limit;',
        'if (limit !== undefined) this.#limit ||= limit;',
      ),
    ],
  },
  {
    name: 'sticky: a tenure goes on although its znode is gone',
    edits: [edit('src/sticky/sticky-tenure.ts', 'node.onGone(() => this.#end()),', '')],
  },
  {
    name: 'late: creates that are carried out late are not searched for',
    edits: [edit('src/internals/znode/lock-node.ts', 'removeLate(this.session, lost);', 'void removeLate;')],
  },
  {
    name: 'late: a search for a create begins after the end of the session',
    edits: [edit('src/internals/znode/late-creates.ts', 'if (this.#session.isEnded) return;', '')],
  },
  {
    name: 'weights: a waiter does not watch the data of the lock',
    edits: [
      edit(
        'src/weighted/weighted-kind.ts',
        'return watchesClaim ? { ...queued, lockData: this.#look.answers.mzxid } : queued;',
        'return { ...queued, ...(watchesClaim && {}) };',
      ),
    ],
  },
  {
    name: 'turn: the event of a watch is told before the answer that came with it in one chunk',
    edits: [
      edit('src/zookeeper/session/watches.ts', '(event) => (early = event);', '(event) => listener.told(event);'),
    ],
  },
  {
    name: 'semaphore: a waiter is not woken when a lease is gone',
    edits: [edit('src/semaphore/lease-turn.ts', 'told: look,', 'told: () => undefined,')],
  },
  {
    name: 'semaphore: leases that are gone before the watch are not noticed',
    edits: [
      edit(
        'src/semaphore/lease-turn.ts',
        'found: (names) => isSameSet(names, sorted) || look(),',
        'found: () => undefined,',
      ),
    ],
  },
  {
    name: 'weights: a waiter is not woken when the holder is gone',
    edits: [
      edit(
        'src/internals/waiting.ts',
        "told: (event) => waiter.wake(event === 'deleted' ? 'predecessor-deleted' : 'recheck'),",
        "told: (event) => waiting.rank ?? waiter.wake(event === 'deleted' ? 'predecessor-deleted' : 'recheck'),",
      ),
    ],
  },
  {
    name: 'multi-lock: the hold is valid as long as its first lock is',
    edits: [
      edit(
        'src/multi-lock/multi-hold.ts',
        '!this.#lease?.isOver && this.holds.every((hold) => hold.isValid);',
        '!this.#lease?.isOver && this.holds.slice(0, 1).every((hold) => hold.isValid);',
      ),
    ],
  },
  {
    name: 'multi-lock: only the loss of the first lock is heard',
    edits: [
      edit(
        'src/multi-lock/multi-hold.ts',
        '...this.holds.map((hold) => abortHubs',
        '...this.holds.slice(0, 1).map((hold) => abortHubs',
      ),
    ],
  },
  {
    name: 'multi-lock: a transaction checks the znode of the first lock only',
    edits: [
      edit(
        'src/multi-lock/multi-hold.ts',
        'paths: () => guards.flatMap(({ paths }) => paths()),',
        'paths: () => first.paths(),',
      ),
    ],
  },
  {
    name: 'multi-lock: granted although a lock was lost during the wait for another',
    edits: [
      edit(
        'src/multi-lock/inter-process-multi-lock.ts',
        'if (holds.every((hold) => hold.isValid)) return holds;',
        'if (holds.at(-1)?.isValid) return holds;',
      ),
    ],
  },
  {
    name: 'multi-lock: released, says the release of the last lock',
    edits: [
      edit('src/multi-lock/multi-hold.ts', 'return settled.every((one)', 'return settled.slice(0, 1).every((one)'),
    ],
  },
  {
    name: 'refusal: a caller gives up after half of its time',
    edits: [
      edit(
        'src/support/deadline.ts',
        'this.#stops = [caller.clock.after(timeoutMs, () =>',
        'this.#stops = [caller.clock.after(timeoutMs / 2, () =>',
      ),
    ],
  },
  {
    name: 'refusal: a request is blamed for the end of a silent connection',
    edits: [
      edit(
        'src/zookeeper/connection/connection-failures.ts',
        'link.wasDropped || silentMs > this.#session.timeoutMs / divisors.silentEnd',
        'link.wasDropped || silentMs > this.#session.timeoutMs * divisors.silentEnd',
      ),
    ],
  },
  {
    name: 'refusal: a claim whose znode is gone fails the call',
    edits: [
      edit(
        'src/weighted/weighted-kind.ts',
        "if (ofNode?.is('NO_NODE')) return { is: 'absent' };",
        "if (ofNode?.is('BAD_VERSION')) return { is: 'absent' };",
      ),
    ],
  },
];
