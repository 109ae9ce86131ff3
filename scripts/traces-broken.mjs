import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';
import { Copy } from './mutants/copy.mjs';
import { passages } from './mutants/passage.mjs';

const clock = 'src/zookeeper/session-clock.ts';

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
    '(1 - marginOfTimeout)',
    '(1 - 0 * marginOfTimeout)',
  ]),
  broken('a write that is not the newest is carried', 'clock of seed 2', clock, [
    'findLastIndex(isLate)',
    'findIndex(isLate)',
  ]),
  broken('a grant without a look at the predecessor', 'queue of look-ahead', 'src/internals/lock-internals.ts', [
    'if (!wasQueued) this.#tellQueued(attempt, standing.position, view);',
    'return this.#grant(attempt);',
  ]),
  broken('one of two predecessors is enough', 'queue of look-ahead', 'src/internals/predecessors.ts', [
    'if (left.length === 0 && this.#areAll)',
    'if (this.#areAll)',
  ]),
  broken('a hold outlives its deadline', 'queue of a lost session', 'src/zookeeper/life.ts', [
    "return life.holds === 0 && life.state.at === 'connected' ? Infinity : endsAt(life);",
    'return Infinity;',
  ]),
  broken('no search by uuid after a lost answer', 'queue of lost answers', 'src/internals/lock-node.ts', [
    'const { names, created } = await findCreated(this.session, lost.parent, lost.uuid);',
    'const { names, created }: Awaited<ReturnType<typeof findCreated>> = { names: [], created: undefined };',
  ]),
];

function broken(name, trace, file, [find, replace]) {
  return { name, trace, edit: { file, find, replace } };
}

/** Runs the simulation of a trace, in the working tree or in a copy with an edit. Returns the reason of a failure. */
export function simulated(trace, folder, { edit, copyIn }) {
  if (edit === undefined) return simulate(root, trace, folder);
  if (passages(readFileSync(join(root, edit.file), 'utf8'), edit.find).length !== 1) return `STALE: ${edit.file}`;
  copy ??= new Copy(copyIn);
  const revert = copy.mutate(edit);
  const failure = simulate(copy.folder, trace, folder);
  revert();
  return failure;
}

let copy;

function simulate(cwd, trace, folder) {
  const args = ['--import=tsx', 'simulation/traces.ts', folder, trace];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}
