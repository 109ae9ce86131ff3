import type { LockClient } from '../../../../../src/client/lock-client.js';
import type { Hold } from '../../../../../src/mutex/hold.js';
import { commandErrorText, commandText } from '../own-words.js';
import { systemChance } from '../../../../../src/support/chance.js';
import { systemClock } from '../../../../../src/support/clock.js';
import { connect } from '../connect/connection.js';
import { exitCodeOfSignal, exitCodes } from '../exit-code.js';
import { exitCodeOf } from '../failure.js';
import type { Io } from '../io.js';
import type { Arguments } from '../verb.js';
import { UsageError } from '../usage-error.js';
import { acquirePlanned } from './acquire-planned.js';
import { endTimes } from './grace.js';
import { Interrupted, Interrupts } from './interrupts.js';
import { planOf, type Plan } from './plan.js';
import { Report } from './report.js';
import type { RunOptions } from './run-options.js';
import type { Scope } from './scope.js';
import type { JobOutcome } from './supervised-job.js';

/** The verb `run`. Resolves with the exit code. */
export async function runWithLock(args: Arguments<RunOptions>, io: Io): Promise<number> {
  if (process.platform === 'win32')
    throw new UsageError('zklock run needs sessions of processes and /bin/sh, which Windows does not have');
  const interrupts = new Interrupts(io);
  try {
    const report = new Report(io, args.options);
    const exitCode = await exitCodeFor({ args, io, interrupts, report });
    report.tell({ event: 'exit', exitCode });
    return exitCode;
  } finally {
    interrupts.stop();
  }
}

async function exitCodeFor(given: Omit<Task, 'plan'>): Promise<number> {
  const { args, report } = given;
  try {
    return await runTask({ ...given, plan: planOf(args) });
  } catch (error) {
    if (error instanceof Interrupted) {
      report.tell({ event: 'interrupted', signal: error.signal });
      return exitCodeOfSignal(error.signal);
    }
    // A program that reads the events must not meet a line of text.
    if (!args.options.json) throw error;
    report.tell({ event: 'failed', message: commandErrorText(error) });
    return exitCodeOf(error);
  }
}

interface Task {
  readonly args: Arguments<RunOptions>;
  readonly io: Io;
  readonly interrupts: Interrupts;
  readonly plan: Plan;
  readonly report: Report;
}

async function runTask(task: Task): Promise<number> {
  const startedAt = systemClock.now();
  if (task.plan.scope) (await scopes())().remove(); // before the wait: it fails where there is none
  const client = await connectFor(task);
  try {
    task.report.tell({ event: 'connected', sessionTimeoutMs: client.sessionTimeoutMs });
    return await runConnected(task, client, startedAt);
  } finally {
    // Deletes the znode. If the servers do not answer, the session is left to expire.
    await client.close({ timeoutMs: closeTimeoutMs });
  }
}

const closeTimeoutMs = 3_000;

/** `--wait` limits the connection attempt too. A user who does not wait for a lock expects no wait for a server. */
function connectFor({ args, io, interrupts, plan, report }: Task): Promise<LockClient> {
  const usualMs = plan.waitMs === 0 ? connectMsWithoutWait : defaultConnectMs;
  const limitMs = Math.min(args.options['connect-timeout'] ?? usualMs, plan.waitMs || Infinity);
  const { acl } = args.options;
  const warn = (_details: unknown, message: string): void =>
    report.tell({ event: 'warning', message: commandText(message) });
  const options = { signal: interrupts.whileWaiting, connectionTimeoutMs: limitMs, acl, logger: { warn } };
  return connect(args, io, options, {
    asked: loadTheRest,
    isSlow: (message) => report.tell({ event: 'connecting', message }, { isImportant: true }),
  });
}

const defaultConnectMs = 15_000;

/** Two rounds over three servers of which one is silent. */
const connectMsWithoutWait = 5_000;

/** Loads what is not needed before the servers have answered. */
function loadTheRest(): void {
  void import('./supervised-job.js');
  void import('../../../../../src/mutex/inter-process-mutex.js');
  void import('../../../../../src/weighted/weighted-way.js');
  systemChance.uuid(); // the first one loads node:crypto
}

async function runConnected(task: Task, client: LockClient, startedAt: number): Promise<number> {
  const { plan, report, interrupts, io } = task;
  const { sessionTimeoutMs } = client;
  const times = endTimes(plan.graceMs, sessionTimeoutMs);
  // Before the acquire: from the grant to the start of the command, nothing is waited for.
  const { SupervisedJob } = await import('./supervised-job.js');
  const newScope = plan.scope ? await scopes() : undefined;
  // Another client may ask for the lock before the job exists.
  const request = { isOpen: false, answer: (): void => void (request.isOpen = true) };
  const hold = await acquire(task, client, {
    startedAt,
    // The lease of the hold begins later than the grant is known here. It must not end before KILL.
    leaseMs: plan.leaseMs === undefined ? undefined : plan.leaseMs + times.graceMs + times.marginMs,
    asked: () => request.answer(),
  });
  if (typeof hold === 'number') return hold;
  // A signal that arrived with the grant was not seen by the acquire.
  interrupts.whileWaiting.throwIfAborted();
  const { path: node, fencingToken } = hold;
  const waitedMs = systemClock.now() - startedAt;
  report.tell({ event: 'acquired', node, fence: String(fencingToken), waitedMs });
  client.on('state', (state) => {
    if (state !== 'closed') report.tell({ event: 'connection', state, remainingMs: hold.remainingMs });
  });
  const scope = newScope?.();
  try {
    const clock = systemClock;
    const job = new SupervisedJob({ hold, plan, times, sessionTimeoutMs, clock, interrupts, report, io, scope });
    const running = job.run();
    request.answer = () => job.askToEnd();
    if (request.isOpen) job.askToEnd();
    return await finish(task, { hold, outcome: await running, environment: job.environment });
  } finally {
    scope?.remove();
  }
}

async function scopes(): Promise<() => Scope> {
  const { Scope } = await import('./scope.js');
  return () => new Scope(`zklock-${systemChance.uuid()}`);
}

/** Resolves with the exit code if the lock is not acquired. */
async function acquire(
  { plan, report, interrupts }: Task,
  client: LockClient,
  terms: { readonly startedAt: number; readonly leaseMs: number | undefined; readonly asked: () => void },
): Promise<Hold | number> {
  const { startedAt, leaseMs, asked } = terms;
  const leftMs = plan.waitMs && Math.max(1, Math.round(plan.waitMs - (systemClock.now() - startedAt)));
  try {
    const hold = await acquirePlanned(client, plan, {
      waitMs: leftMs,
      leaseMs,
      signal: interrupts.whileWaiting,
      queued: (position) => report.tell({ event: 'waiting', path: plan.path, position }),
      asked,
    });
    if (hold) return hold;
    const isUnreachable = client.state === 'suspended' || client.state === 'lost';
    const message = isUnreachable ? 'No ZooKeeper server answered' : `The lock ${plan.path} is not free`;
    report.tell({ event: 'not-acquired', message }, { isImportant: isUnreachable });
    return isUnreachable ? exitCodes.unreachable : plan.conflictExitCode;
  } catch (error) {
    if (exitCodeOf(error) !== exitCodes.notAcquired) throw error;
    report.tell({ event: 'not-acquired', message: commandErrorText(error) }, { isImportant: true });
    return plan.conflictExitCode;
  }
}

interface Ended {
  readonly hold: Hold;
  readonly outcome: JobOutcome;
  readonly environment: Record<string, string>;
}

async function finish({ plan, report, interrupts }: Task, { hold, outcome, environment }: Ended): Promise<number> {
  // Not awaited: the client's close, which follows, waits for the deletion as well, and not longer than its timeout.
  void hold.release();
  if (outcome.is === 'ended') {
    report.tell({ event: 'released' });
    return outcome.exitCode;
  }
  report.tell({ event: 'lost', message: outcome.why }, { isImportant: false });
  if (plan.onLost !== undefined) {
    const { runLostCommand } = await import('./lost-command.js');
    await runLostCommand(plan.onLost, { ...environment, ZKLOCK_LOST: outcome.why }, interrupts);
  }
  return exitCodes.lost;
}
