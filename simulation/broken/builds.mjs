import { builds as ofChaos, edit } from '../../chaos/broken/builds.mjs';
import { builds as planted } from './planted.mjs';

/** Builds that the simulation must find: those of chaos, those of one planted line, and more. */
export const builds = [
  ...ofChaos,
  ...planted,
  {
    name: 'quiet: a client that waits without heartbeats writes them all the same',
    edits: [
      edit(
        'src/zookeeper/session/session-life.ts',
        "if (!isProven(life) || life.attach !== 'none' || isActive(life, now, timeoutMs)) return",
        'return',
      ),
    ],
  },
  {
    name: 'quiet: requests that never settle if the attach fails',
    edits: [
      edit(
        'src/zookeeper/connection/link-pair.ts',
        'for (const call of second?.heldBack ?? []) call.reject(connectionLost(call.operation, this.#options.lastError()));',
        '',
      ),
    ],
  },
  {
    name: 'block: the waiters are not told that an attach got no new connection',
    edits: [
      edit(
        'src/zookeeper/connection/link-pair.ts',
        'this.#stay(second);\n      this.#listener.attachFailed();',
        'this.#stay(second);',
      ),
    ],
  },
  {
    name: 'block: the requests that were held back for an attach are lost if the first connection stays',
    edits: [
      edit(
        'src/zookeeper/connection/link-pair.ts',
        'this.#listener.stayed(second.heldBack);',
        'this.#listener.stayed([]);',
      ),
    ],
  },
  {
    name: 'attach: the watches stay on the old connection if requests were held back',
    edits: [
      edit(
        'src/zookeeper/connection/connection.ts',
        'this.#renewWatches();\n      this.#listener.connected(',
        'if (heldBack.length === 0) this.#renewWatches();\n      this.#listener.connected(',
      ),
    ],
  },
  {
    name: 'burst: the acquires that wait for room are forgotten when their session ends',
    edits: [edit('src/zookeeper/session/session-shell.ts', 'admission.admitAll();', '')],
  },
  {
    name: 'flow: a request that was put off is forgotten',
    edits: [
      edit(
        'src/zookeeper/connection/postponed-requests.ts',
        '      this.#pauses.delete(call);\n      this.#options.send(call);',
        '      this.#pauses.delete(call);',
      ),
    ],
  },
  {
    name: 'flow: the acquires that wait for room are not admitted when answers arrive',
    edits: [edit('src/zookeeper/session/session-shell.ts', '    this.#session.admission.admitSome();', '')],
  },
  {
    name: 'loss: a client waits for five seconds before it dials again',
    edits: [
      edit('src/zookeeper/connection/dialler.ts', 'clock.after(delayMs, end)', 'clock.after(delayMs + 5_000, end)'),
    ],
  },
  {
    name: 'look-ahead: a grant after the predecessor alone is deleted',
    edits: [edit('src/internals/predecessors.ts', 'left.length === 0 && this.#areAll', 'this.#areAll')],
  },
  {
    name: 'hand-over: a lost answer leaves the znode of the holder',
    edits: [
      edit(
        'src/internals/znode/node-deletion.ts',
        '    // `deleteUntilGone` tries again, as after any other failed delete.\n  }\n  await deleteUntilGone(holder);',
        '  }',
      ),
    ],
  },
  {
    name: 'hand-over: a grant without a list when a waiter of this process gives up',
    edits: [
      edit(
        'src/internals/znode/lock-node.ts',
        "follower.#wake(this.wasGranted ? 'holder-deleted' : 'predecessor-deleted')",
        "follower.#wake('holder-deleted')",
      ),
    ],
  },
  {
    name: 'transaction: no check of the znode of the hold',
    edits: [
      edit(
        'src/mutex/transaction/commit.ts',
        'multi<readonly unknown[]>(...paths.map(checkExists), ...',
        "multi<readonly unknown[]>(...paths.map(() => checkExists('/')), ...",
      ),
    ],
  },
  {
    name: 'transaction: sent again when its answer is lost',
    edits: [edit('src/mutex/transaction/commit.ts', 'if (sending.wasWritten) throw this.#unknown(error, bytes);', '')],
  },
  {
    name: 'election: the job of a leader that is not told when its term ends with its session',
    edits: [edit('src/election/leader-election.ts', '[term.signal, signal].map(', '[undefined, signal].map(')],
  },
  {
    name: 'election: the next term begins beside the job whose lease has ended',
    edits: [
      edit(
        'src/election/leader-election.ts',
        'const whole = requeue ? untilReleased : withHold;',
        'const whole = withHold;',
      ),
    ],
  },
  {
    name: 'herd: every waiter watches the holder, besides its predecessor',
    edits: [
      edit(
        'src/internals/ordered-queue.ts',
        'before: isAdjacent ? this.#beforeAt(position) : undefined',
        'before: isAdjacent && position > 1 ? sorted[0] : undefined',
      ),
    ],
  },
  {
    name: 'herd: a waiter that leaves the queue keeps its watches on the servers',
    edits: [edit('src/zookeeper/session/watches.ts', 'fired, { forget: true });', 'fired, { forget: false });')],
  },
  {
    name: 'close: a watch that is due keeps its timer when the session ends',
    edits: [
      edit(
        'src/internals/znode/lock-node.ts',
        "    this.#watch?.cancel();\n    this.#wake('recheck');",
        "    this.#wake('recheck');",
      ),
    ],
  },
  {
    name: 'place: a waiter that must look again comes with a new znode',
    edits: [
      edit(
        'src/internals/steps.ts',
        "if (reason !== 'recheck') deadline.progress = 'asking';",
        "if (reason === 'recheck') return this.#kept(attempt, { is: 'absent' });",
      ),
    ],
  },
  {
    name: 'revocation: a request that comes during the hold is dropped',
    edits: [edit('src/internals/grant.ts', ': this.#revoked())', ': undefined)')],
  },
  {
    name: 'move: a client never follows a new list of servers',
    edits: [
      edit(
        'src/zookeeper/connection/dialler.ts',
        'if (servers.hosts === this.#list) return;',
        'if (servers.hosts === this.#list || this.#hosts.length > 0) return;',
      ),
      // Otherwise it looks without end for a host that the new list has too.
      edit(
        'src/zookeeper/connection/dialler.ts',
        'return this.#options.servers.hosts.some(',
        'return this.#hosts.some(',
      ),
    ],
  },
  {
    name: 'move: a list that arrives in a pause before a dial begins a second attempt beside the first',
    edits: [
      edit(
        'src/zookeeper/connection/dialler.ts',
        'const end = (): void => {\n      this.#cancelPause();\n      then();',
        'const end = (): void => {\n      then();',
      ),
    ],
  },
  {
    name: 'move: a function that failed once is not called again',
    edits: [
      edit(
        'src/client/options/server-list.ts',
        'if (!this.#name || this.#cancelLimit',
        'if (!this.#name || this.failure || this.#cancelLimit',
      ),
    ],
  },
];
