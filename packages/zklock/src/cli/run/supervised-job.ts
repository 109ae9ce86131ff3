import type { CancelTimer, Clock } from '../../../../../src/support/clock.js';
import type { Hold } from '../../../../../src/mutex/hold.js';
import { exitCodeOfSignal } from '../exit-code.js';
import type { Io } from '../io.js';
import type { EndTimes } from './grace.js';
import { HoldGuard } from './hold-guard.js';
import type { Interrupts } from './interrupts.js';
import { Job } from './job.js';
import type { Plan } from './plan.js';
import { processesWith } from './process-table.js';
import type { Report } from './report.js';
import type { Scope } from './scope.js';
import { Watchdog } from './watchdog.js';

/** How a job ended. `lost`: it was ended because of the lock, or the lock was not certainly held until its end. */
export type JobOutcome =
  { readonly is: 'ended'; readonly exitCode: number } | { readonly is: 'lost'; readonly why: string };

export interface Supervision {
  readonly hold: Hold;
  readonly plan: Plan;
  readonly times: EndTimes;
  readonly sessionTimeoutMs: number;
  readonly clock: Clock;
  readonly interrupts: Interrupts;
  readonly report: Report;
  readonly io: Io;
  /** The control group, with `--scope`. */
  readonly scope?: Scope | undefined;
}

/**
 * The command of one hold, from its start until the last process of its session or scope has ended.
 *
 * Each signal is sent before it is reported, because standard error may be a pipe that nobody reads: then the write stops
 * this process.
 */
export class SupervisedJob {
  readonly #with: Supervision;
  readonly #job: Job;
  readonly #watchdog = new Watchdog();
  readonly #guard: HoldGuard;
  /** Why the job must end before it has ended by itself. */
  #why: string | undefined;
  #isOver = false;
  #cancelKill: CancelTimer = () => undefined;

  constructor(supervision: Supervision) {
    this.#with = supervision;
    const { plan, times, clock, sessionTimeoutMs } = supervision;
    try {
      this.#job = new Job(plan.command, this.environment, supervision.scope);
    } catch (error) {
      this.#watchdog.dismiss();
      throw error;
    }
    this.#guard = new HoldGuard(
      supervision.hold,
      { times, clock, periodMs: sessionTimeoutMs / 12 },
      {
        renewed: (remainingMs) => this.#watchdog.killIn(remainingMs - times.marginMs),
        mustEnd: (killInMs) => this.#end(this.#reasonToEnd(), killInMs),
        lost: ({ message }) => this.#kill(message),
      },
    );
  }

  /** The variables that the command gets. */
  get environment(): Record<string, string> {
    const { plan, hold } = this.#with;
    return { ZKLOCK_PATH: plan.path, ZKLOCK_NODE: hold.path, ZKLOCK_FENCE: String(hold.fencingToken) };
  }

  /** Resolves when all processes have ended. Call it once. */
  async run(): Promise<JobOutcome> {
    const { times, interrupts } = this.#with;
    const stops = this.#listen();
    try {
      this.#watchdog.guard(this.#job.processes, times.graceMs);
      interrupts.passTo((signal) => this.#pass(signal));
      this.#guard.begin();
      // From here to the start nothing else runs, so the command is not started once its end has begun.
      if (this.#why === undefined) this.#start();
      return this.#outcome(await this.#ended());
    } finally {
      this.#guard.end();
      this.#cancelKill();
      // The number of the session may now belong to another one.
      interrupts.passTo(() => undefined);
      this.#isOver = true;
      this.#watchdog.dismiss();
      for (const stop of stops) stop();
    }
  }

  /** Another client asks for the lock. The command decides when it ends. */
  askToEnd(): void {
    if (this.#isOver) return;
    this.#signal('SIGTERM');
    this.#with.report.tell({ event: 'asked-to-release' }, { isImportant: true });
  }

  #start(): void {
    this.#with.report.tell({ event: 'started', session: this.#job.session.id });
    this.#job.start();
  }

  async #ended(): Promise<number> {
    const { report, hold } = this.#with;
    const { processes } = this.#job;
    const exitCode = await this.#job.exitCode;
    // The watchdog may have sent it while this process was stopped: then the guard has not looked yet.
    if (exitCode === exitCodeOfSignal('SIGKILL')) this.#guard.look();
    const othersRun = processes.isSeen;
    report.tell({ event: 'command-ended', exitCode, othersRun }, { isImportant: othersRun && this.#why === undefined });
    await processes.ended();
    report.tell({ event: 'all-ended', remainingMs: hold.remainingMs });
    return exitCode;
  }

  #outcome(exitCode: number): JobOutcome {
    if (this.#why === undefined && this.#with.hold.isValid) return { is: 'ended', exitCode };
    this.#tellLeft(processesWith(`ZKLOCK_NODE=${this.environment['ZKLOCK_NODE']}`).map(({ pid }) => pid));
    return { is: 'lost', why: this.#why ?? 'the lock was lost before the command ended' };
  }

  /** The signals of the terminal and of operators, while the job runs. */
  #listen(): (() => void)[] {
    const { io } = this.#with;
    return [
      io.onSignal('SIGTSTP', () => this.#stop()),
      io.onSignal('SIGCONT', () => this.#continue()),
      io.onSignal('SIGWINCH', () => this.#job.processes.signal('SIGWINCH')),
    ];
  }

  /** A stopped process gets a signal only when it goes on. So a signal that asks for the end lets it, as systemd does. */
  #signal(signal: NodeJS.Signals): void {
    const { processes } = this.#job;
    processes.signal(signal);
    if (!signal.startsWith('SIGUSR')) processes.signal('SIGCONT');
  }

  #pass(signal: NodeJS.Signals): void {
    this.#signal(signal);
    this.#with.report.tell({ event: 'signal', signal });
  }

  /** Ctrl-Z stops only this process, because the job is in another session; there TSTP would have no effect. */
  #stop(): void {
    const { report, hold } = this.#with;
    report.tell({ event: 'stopped', remainingMs: hold.remainingMs }, { isImportant: true });
    this.#job.processes.signal('SIGSTOP');
    process.kill(process.pid, 'SIGSTOP');
  }

  /** The lock may have been lost meanwhile: then the job must not run on. */
  #continue(): void {
    this.#guard.look();
    if (this.#why === undefined) this.#job.processes.signal('SIGCONT');
  }

  /** The lease and the session end the hold in the same way, but the operator has to do different things. */
  #reasonToEnd(): string {
    const { plan, hold } = this.#with;
    return plan.leaseMs !== undefined && hold.leaseEndsFirst
      ? `the lease of ${plan.leaseMs / 1_000} s has ended`
      : 'the lock may be lost soon';
  }

  #end(why: string, killInMs: number): void {
    const { report, clock } = this.#with;
    this.#why = why;
    this.#job.processes.terminate();
    this.#cancelKill = clock.after(killInMs, () => this.#kill(why));
    report.tell({ event: 'ending', why, killInMs }, { isImportant: true });
  }

  #kill(why: string): void {
    const { report, clock } = this.#with;
    this.#cancelKill();
    this.#why ??= why;
    this.#job.processes.kill();
    this.#cancelKill = clock.after(longestDeathMs, () => this.#tellLeft(this.#job.processes.running));
    report.tell({ event: 'killed', why }, { isImportant: true });
  }

  /** They may run beside the next holder's command, so they have to be ended by hand. */
  #tellLeft(processes: readonly number[]): void {
    if (processes.length > 0) this.#with.report.tell({ event: 'left', processes }, { isImportant: true });
  }
}

/** A process that lives so long after KILL waits for a disk, or belongs to another user. */
const longestDeathMs = 1_000;
