const clock = 'src/zookeeper/session/session-clock.ts';

/** Builds that are broken in one place, and a run whose trace the specification must then refute. */
export const builds = [
  broken('V is sent before the answer to W', 'clock of seed 2', clock, [
    'proof.relayed === undefined || sentAt < proof.relayed.at',
    'proof.relayed === undefined',
  ]),
  broken('W is sent without a pause', 'clock of seed 2', clock, [
    'sentAt >= write.answeredAt + relay;',
    'sentAt >= write.answeredAt;',
  ]),
  broken('a proof spans two connections', 'clock of seed 1', clock, [
    "case 'disconnected':\n      return { ...proof, connectSentAt: undefined, written: [], relayed: undefined };",
    "case 'disconnected':\n      return proof;",
  ]),
  broken('a connection counts at once', 'clock of seed 1', clock, [
    'timeoutMs: Math.min(proof.timeoutMs, event.timeoutMs),',
    'timeoutMs: Math.min(proof.timeoutMs, event.timeoutMs), provenAt: event.sentAt,',
  ]),
  broken('a deadline without a margin', 'clock of seed 1', clock, [
    '(1 - 1 / divisors.margin)',
    '(1 - 0 / divisors.margin)',
  ]),
  broken('a write that is not the newest is carried', 'clock of seed 2', clock, [
    'findLastIndex(isLate)',
    'findIndex(isLate)',
  ]),
  broken('a grant without a look at the predecessor', 'queue of look-ahead', 'src/internals/steps.ts', [
    'if (!wasQueued) this.#tellQueued(attempt, standing.position, view);',
    'return grant(attempt);',
  ]),
  broken('one of two predecessors is enough', 'queue of look-ahead', 'src/internals/predecessors.ts', [
    'if (left.length === 0 && this.#areAll)',
    'if (this.#areAll)',
  ]),
  broken('a hold outlives its deadline', 'queue of a lost session', 'src/zookeeper/session/life.ts', [
    "return life.holds === 0 && life.state.at === 'connected' ? Infinity : endsAt(life);",
    'return Infinity;',
  ]),
  broken('no search by uuid after a lost answer', 'queue of lost answers', 'src/internals/znode/lock-node.ts', [
    'const { names, created } = await findCreated(this.session, lost.parent, lost.uuid);',
    'const { names, created }: Awaited<ReturnType<typeof findCreated>> = { names: [], created: undefined };',
  ]),
];

function broken(name, trace, file, [find, replace]) {
  return { name, trace, edit: { file, find, replace } };
}
