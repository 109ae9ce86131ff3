import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { ProcessGroup } from './process-group.js';

/**
 * A small shell in a session of its own, which ends a process group when this process cannot: because it was killed, or
 * because it is stopped until the hold is about to be lost. It learns of the end of this process by the end of a pipe.
 */
export class Watchdog {
  readonly #shell: ChildProcess;
  readonly #orders: Writable;

  constructor() {
    const shell = spawn('/bin/sh', ['-c', script, 'watchdog'], {
      detached: true,
      // It must not keep the standard streams open, or a file system mounted.
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      // For `sleep`, which the PATH of the command need not contain.
      env: { PATH: [process.env['PATH'] ?? [], '/usr/bin', '/bin'].flat().join(':') },
    });
    shell.on('error', () => undefined);
    if (shell.pid === undefined) throw new Error('The system cannot start another process');
    shell.unref();
    this.#shell = shell;
    this.#orders = shell.stdin;
    // It may have been killed. Then the job runs on without it.
    this.#orders.on('error', () => undefined);
  }

  /** From now on, the end of this process ends the group: TERM, and KILL after `graceMs`. */
  guard(group: ProcessGroup, graceMs: number): void {
    this.#order(`group ${group.id} ${Math.ceil(graceMs / pollMs)}`);
  }

  /** Kills the group after this time, unless it is called again before. */
  killIn(ms: number): void {
    this.#order(`kill-in ${(Math.max(0, ms) / 1_000).toFixed(3)}`);
  }

  /** The group has ended. This process ends after the watchdog: in a container, nobody else may reap it. */
  dismiss(): void {
    this.#order('done');
    this.#orders.end();
    this.#shell.ref();
    setTimeout(() => this.#abandon(), longestEndMs).unref();
  }

  /** Somebody has stopped it. Its timer must not end a later group with the same number. */
  #abandon(): void {
    const { pid, exitCode, signalCode } = this.#shell;
    // The number of a shell that has ended may belong to another group.
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has just ended.
    }
    this.#orders.destroy();
    this.#shell.unref();
  }

  #order(line: string): void {
    this.#orders.write(`${line}\n`);
  }
}

const pollMs = 100;
const longestEndMs = 2_000;

/**
 * Each timer is a subshell with a `sleep`. ALRM ends both, so that no `sleep` outlives the watchdog. The signals of
 * terminals and operators are ignored: the watchdog ends when its job is done. The second argument of `group` counts
 * pauses of `pollMs`.
 */
const script = `
trap '' HUP INT QUIT TERM USR1 USR2 TSTP TTIN TTOU
group= pauses=0 timer=
stop_timer() {
  [ -z "$timer" ] || { kill -s ALRM "$timer"; wait "$timer"; }
  timer=
}
while read -r order first second; do
  case $order in
    group) group=$first pauses=$second ;;
    kill-in)
      stop_timer
      (
        nap=
        trap 'kill -s KILL $nap; exit' ALRM
        sleep "$first" & nap=$!
        wait "$nap" && kill -s KILL -- "-$group"
      ) &
      timer=$!
      ;;
    done) stop_timer; exit ;;
  esac
done
[ -n "$group" ] || exit
kill -s TERM -- "-$group"
kill -s CONT -- "-$group"
while [ "$pauses" -gt 0 ] && kill -s 0 -- "-$group"; do
  sleep 0.1
  pauses=$((pauses - 1))
done
kill -s KILL -- "-$group"
stop_timer
`;
