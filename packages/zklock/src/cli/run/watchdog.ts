import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import { send, type CommandProcesses } from './command-processes.js';
import { closing, inheritedFiles, shellWithout, withoutFiles } from './inherited-files.js';

/**
 * A small shell in a session of its own, which ends a command when this process cannot: because it was killed, or
 * because it is stopped until the hold is about to be lost. It learns of the end of this process by the end of a pipe.
 */
export class Watchdog {
  readonly #shell: ChildProcess;
  readonly #orders: Writable;

  constructor() {
    // It must not keep the streams and files of the caller open, or a file system mounted.
    const files = inheritedFiles();
    const { words, closes } = shellWithout(files);
    const [program, ...options] = words;
    const shell = spawn(program, [...options, '-c', `${closing(closes)}${begin}`, 'watchdog', script], {
      detached: true,
      stdio: withoutFiles(['pipe', 'ignore', 'ignore'], files),
      cwd: '/',
      // For `sleep`, which the PATH of the command need not contain.
      env: { PATH: [process.env['PATH'] ?? [], '/usr/bin', '/bin'].flat().join(':') },
    });
    shell.on('error', () => undefined);
    if (shell.pid === undefined) throw new Error('The system cannot start another process');
    shell.unref();
    this.#shell = shell;
    this.#orders = shell.stdin as Writable;
    // It may have been killed. Then the job runs on without it.
    this.#orders.on('error', () => undefined);
  }

  /** From now on, the end of this process ends the command: TERM, and KILL after `graceMs`. */
  guard(processes: CommandProcesses, graceMs: number): void {
    this.#order(`guard ${Math.ceil(graceMs / pollMs)} ${processes.address}`);
  }

  /** Kills the command after this time, unless it is called again before. */
  killIn(ms: number): void {
    this.#order(`kill-in ${(Math.max(0, ms) / 1_000).toFixed(3)}`);
  }

  /** The command has ended. This process ends after the watchdog: in a container, nobody else may reap it. */
  dismiss(): void {
    this.#order('done');
    this.#orders.end();
    this.#shell.ref();
    setTimeout(() => this.#abandon(), longestEndMs).unref();
  }

  /** Somebody has stopped it. Its timer must not end a later session with the same number. */
  #abandon(): void {
    const { pid } = this;
    if (pid === undefined) return;
    send(-pid, 'SIGKILL');
    this.#orders.destroy();
    this.#shell.unref();
  }

  /** Continues the shell, too: somebody may have stopped it, and its timer for the time before would end the command. */
  #order(line: string): void {
    this.#orders.write(`${line}\n`);
    const { pid } = this;
    if (pid !== undefined) send(pid, 'SIGCONT');
  }

  /** Undefined if the shell has ended: then its number may belong to another process. */
  private get pid(): number | undefined {
    const { pid, exitCode, signalCode } = this.#shell;
    return exitCode === null && signalCode === null ? pid : undefined;
  }
}

const pollMs = 100;
const longestEndMs = 2_000;

/**
 * The kernel continues the watchdog when this process ends: somebody may have stopped it. The `setpriv` of util-linux can
 * ask for that, on Linux; the one of BusyBox cannot.
 */
const begin = `
setpriv --pdeathsig CONT true && exec setpriv --pdeathsig CONT /bin/sh -c "$1" watchdog
eval "$1"
`;

/**
 * Each timer is a subshell with a `sleep`. ALRM ends both, so that no `sleep` outlives the watchdog. The signals of
 * terminals and operators are ignored: the watchdog ends when its job is done. The first argument of `guard` counts
 * pauses of `pollMs`.
 *
 * `find_groups` does what `withDescendants` of command-session.ts does: the groups with a process that runs, of the
 * session, of the descendants, and of their sessions. It needs no program but the shell, because a container may have no
 * `ps` and no `awk`. Where there is a `pkill`, it also kills what is replaced faster than that.
 */
const script = `
trap '' HUP INT QUIT TERM USR1 USR2 TSTP TTIN TTOU
session= scope= pauses=0 timer= sessions= groups=
find_groups() {
  table=
  for stat in /proc/[0-9]*/stat; do
    last=
    while IFS= read -r line; do last=$line; done < "$stat"
    set -- \${last##*) }
    stat=\${stat%/stat}
    [ $# -lt 18 ] || table="$table \${stat#/proc/} $1 $2 $3 $4 \${18}"
  done
  inside=" $session $sessions " members=' ' before=
  until [ "$members" = "$before" ]; do
    before=$members sessions= groups=
    set -- $table
    while [ $# -ge 6 ]; do
      case "$inside|$members" in
        *" $5 "*'|'* | *'|'*" $3 "*)
          inside="$inside$5 " sessions="$sessions $5"
          case "$members" in *" $1 "*) ;; *) members="$members$1 " ;; esac
          case "$2$6 $groups " in
            Z0' '* | Z1' '* | X* | *" -$4 "*) ;;
            *) groups="$groups -$4" ;;
          esac
      esac
      shift 6
    done
  done
}
send() {
  if [ -z "$scope" ]; then
    kill -s "$1" -- "-$session" $groups
  elif [ "$1" != KILL ] || ! echo 1 > "$scope/cgroup.kill"; then
    for procs in "$scope/cgroup.procs" "$scope"/*/cgroup.procs "$scope"/*/*/cgroup.procs; do
      while read -r pid; do kill -s "$1" "$pid"; done < "$procs"
    done
  fi
}
runs() {
  if [ -n "$scope" ]; then
    while read -r key value; do [ "$key$value" != populated1 ] || return 0; done < "$scope/cgroup.events"
    return 1
  fi
  find_groups
  [ -n "$groups" ] || { [ -z "$table" ] && kill -s 0 -- "-$session"; }
}
hunt() ( # for processes that are replaced faster than this shell reads /proc
  [ -z "$scope" ] || exit 1
  set -- $session $sessions
  IFS=, hunts=30 misses=0 found=1
  while [ "$hunts" -gt 0 ] && [ "$misses" -lt 3 ]; do
    if pkill -KILL -s "$*"; then found=0 misses=0; else misses=$((misses + 1)); fi
    hunts=$((hunts - 1))
  done
  exit "$found"
)
kill_all() {
  [ -n "$scope" ] || kill -s STOP -- "-$session"
  runs
  send KILL
  tries=100
  # One look can miss a process that has just been created.
  while { { [ "$tries" -gt 90 ] && hunt; } || runs || runs; } && [ "$tries" -gt 0 ]; do
    send KILL
    sleep 0.02
    tries=$((tries - 1))
  done
}
stop_timer() {
  [ -z "$timer" ] || { kill -s ALRM "$timer"; kill -s CONT "$timer"; wait "$timer"; }
  timer=
}
while read -r order first second third; do
  case $order in
    guard) pauses=$first session=$second scope=$third ;;
    kill-in)
      stop_timer
      (
        nap=
        trap 'kill -s KILL $nap; exit' ALRM
        sleep "$first" & nap=$!
        wait "$nap" && kill_all
      ) &
      timer=$!
      ;;
    done) stop_timer; exit ;;
  esac
done
[ -n "$session" ] || exit
kill -s CONT -- "-$$"
runs
send TERM
send CONT
while [ "$pauses" -gt 0 ] && { kill -s 0 -- "-$session" || runs; }; do
  sleep 0.1
  pauses=$((pauses - 1))
done
kill_all
stop_timer
[ -z "$scope" ] || rmdir "$scope"/*/* "$scope"/* "$scope"
`;
