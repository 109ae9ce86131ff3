import { tests } from '../named-tests.mjs';

/** The command line: a command that runs without its lock, or that nobody ends. */
export const mutants = [
  {
    name: 'a command gets TERM only when the lock is lost',
    file: 'src/cli/run/hold-guard.ts',
    find: 'return remainingMs - this.#times.graceMs - this.#times.marginMs;',
    replace: 'return remainingMs;',
    tests: tests('unit/cli/hold-guard', 'tells the job to end when grace and margin are just left'),
  },
  {
    name: 'KILL waits for the whole grace, although the hold ends before',
    file: 'src/cli/run/hold-guard.ts',
    find: 'Math.min(this.#times.graceMs, remainingMs - this.#times.marginMs)',
    replace: 'this.#times.graceMs',
    tests: tests('unit/cli/hold-guard', 'leaves less than the grace if it looks late'),
  },
  {
    name: 'a loss while the command ends is not told',
    file: 'src/cli/run/hold-guard.ts',
    find: `readonly #onAbort = (): void => {
    if (this.#state === 'over') return;`,
    replace: `readonly #onAbort = (): void => {
    if (this.#state !== 'watching') return;`,
    tests: tests('unit/cli/hold-guard', 'tells a loss at once and once'),
  },
  {
    name: 'every end of a hold that has a lease is told as the end of the lease',
    file: 'src/mutex/hold.ts',
    find: 'return this.#leaseEnd < this.shared.grant.deadline;',
    replace: 'return this.#leaseEnd < Infinity;',
    tests: tests('behaviour/leases/expiry', 'the hold knows which'),
  },
  {
    name: 'a grace may be longer than the session',
    file: 'src/cli/run/grace.ts',
    find: 'graceMs !== undefined && graceMs > longestMs',
    replace: 'graceMs !== undefined && graceMs < 0',
    tests: tests('unit/cli/hold-guard', 'allow a quarter of the session timeout'),
  },
  {
    name: 'the words of the command are read as options',
    file: 'src/cli/run-verb.ts',
    find: 'words.slice(0, end < 0 ? words.length : end)',
    replace: 'words.slice(0)',
    tests: tests('unit/cli/description', 'leaves the words after -- to the command'),
  },
  {
    name: 'a group whose processes replace each other counts as ended',
    file: 'src/cli/run/process-group.ts',
    find: 'if (ended.every((pid) => before.has(pid))) return true;',
    replace: 'return true;',
    tests: tests('unit/cli/process-group', 'lives while its processes replace each other'),
  },
];
