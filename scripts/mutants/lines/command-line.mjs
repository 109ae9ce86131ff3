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
    name: 'a session whose processes replace each other counts as ended',
    file: 'src/cli/run/command-session.ts',
    find: 'members.every(({ pid }) => before.has(pid))',
    replace: 'members.every(({ pid }) => pid > 0)',
    tests: tests('unit/cli/command-session', 'only zombies are left'),
  },
  {
    name: 'a process that ended while the table was read has created none',
    file: 'src/cli/run/process-table.ts',
    find: "if (found === 'gone') isUnsure = true;",
    replace: "if (found === 'gone') isUnsure = false;",
    tests: tests('unit/cli/command-session', 'nothing is left of many groups'),
  },
  {
    name: 'a job of set -m outlives the lock',
    file: 'src/cli/run/command-session.ts',
    find: 'processes.filter(({ session }) => session === this.id)',
    replace: 'processes.filter(({ group }) => group === this.id)',
    tests: tests('unit/cli/command-session', 'dies as a whole'),
  },
  {
    name: 'a descendant in another session outlives the lock',
    file: 'src/cli/run/command-session.ts',
    find: 'if (!inside.has(each.session) && !members.has(each.parent)) continue;',
    replace: 'if (!inside.has(each.session)) continue;',
    tests: tests('unit/cli/command-session', 'dies as a whole', 'has as descendants'),
  },
  {
    name: 'a process whose parent has ended is forgotten between TERM and KILL',
    file: 'src/cli/run/command-session.ts',
    find: 'this.#sessions = new Set([this.id, ...members.map(({ session }) => session)]);',
    replace: '',
    tests: tests('unit/cli/command-session', 'dies as a whole'),
  },
  {
    name: 'the watchdog leaves the jobs of set -m',
    file: 'src/cli/run/watchdog.ts',
    find: 'kill -s "$1" -- "-$session" $groups',
    replace: 'kill -s "$1" -- "-$session"',
    tests: tests('unit/cli/watchdog', 'kills the session and its descendants'),
  },
  {
    name: 'the watchdog leaves descendants in other sessions',
    file: 'src/cli/run/watchdog.ts',
    find: `*" $5 "*'|'* | *'|'*" $3 "*)`,
    replace: `*" $5 "*'|'*)`,
    tests: tests('unit/cli/watchdog', 'kills the session and its descendants'),
  },
  {
    name: 'a control group without cgroup.kill is not killed',
    file: 'src/cli/run/scope.ts',
    find: "else this.signal('SIGKILL');",
    replace: '',
    tests: tests('unit/cli/scope', 'without cgroup.kill'),
  },
  {
    name: 'a scope is created in the control group of somebody else',
    file: 'src/cli/run/scope.ts',
    find: 'group.startsWith(`${root}/`)',
    replace: 'group.startsWith(root)',
    tests: tests('unit/cli/scope', 'wherever that is mounted'),
  },
  {
    name: 'a daemon that runs on without the lock is not named',
    file: 'src/cli/run/supervised-job.ts',
    find: 'if (processes.length > 0) this.#with.report',
    replace: 'if (processes.length > 99) this.#with.report',
    tests: tests('unit/cli/supervised-job', 'names a daemon'),
  },
];
