import { sleep } from '../../lab/world.ts';
import { ageMs, CaseRun, later, machine, sessionTimeoutMs } from './case-run.ts';
import { codeFaults } from './code-faults.ts';
import { asRequest } from './eavesdropper.ts';
import { ensembleFaults } from './ensemble-faults.ts';
import type { Fault, FrameFact, PlaceFact } from './fault.ts';
import { FrameCounter, keyName } from './frame-key.ts';
import { linkFaults } from './link-faults.ts';
import { mutex } from './lock-kinds.ts';
import { processFaults } from './process-faults.ts';
import type { Scenario } from './scenario.ts';
import { requestFaults } from './request-faults.ts';
import { serverFaults, turnFaults } from './server-faults.ts';

/** One fault at one frame of a scenario. */
export interface Strike {
  readonly fact: FrameFact;
  readonly fault: Fault;
}

export interface Case {
  readonly scenario: Scenario;
  /** In the order in which their frames come. */
  readonly strikes: readonly Strike[];
}

export function caseName({ scenario, strikes }: Case): string {
  return [scenario.name, ...strikes.map(({ fact, fault }) => `${keyName(fact.key)} · ${fault.name}`)].join(' · ');
}

const faults: readonly Fault[] = [...linkFaults, ...requestFaults, ...serverFaults, ...codeFaults, ...processFaults];

/** The kinds of faults that can happen in this scenario. */
export function faultsOf({ members = 1, kind = mutex }: Scenario): readonly Fault[] {
  if (members > 1) return ensembleFaults;
  return kind.folders.length > 1 ? [...faults, ...turnFaults] : faults;
}

/** Every fault at every frame, without those that cannot happen. */
export function casesOf(scenario: Scenario, facts: readonly FrameFact[]): Case[] {
  return facts.flatMap((fact) =>
    faultsOf(scenario)
      .filter((fault) => fault.excludes(fact) === undefined)
      .map((fault): Case => ({ scenario, strikes: [{ fact, fault }] })),
  );
}

/** Every two of these strikes, at two frames or at one. */
export function pairsOf(singles: readonly Case[]): Case[] {
  return singles.flatMap(({ scenario, strikes }, index) =>
    singles.slice(index + 1).map((other): Case => ({ scenario, strikes: [...strikes, ...other.strikes] })),
  );
}

/** Runs a scenario without a fault. Resolves with its frames, and what the server holds when each of them passes. */
export async function factsOf(scenario: Scenario): Promise<FrameFact[]> {
  const facts: FrameFact[] = [];
  const warnings = await play(scenario, (run) => {
    const counter = new FrameCounter();
    const look = (): PlaceFact[] => run.kind.folders.map((folder) => placesIn(run, folder));
    run.wire.strike = (frame) => {
      const fact: { -readonly [Key in keyof FrameFact]: FrameFact[Key] } = {
        key: counter.key(frame),
        hasSession: run.wire.session !== undefined,
        hasOptions: run.options.length > 0,
        places: look(),
        placesAfter: [],
      };
      facts.push(fact);
      later(() => (fact.placesAfter = look()));
      return undefined;
    };
    return quiet(run);
  });
  if (warnings.length > 0) throw new Error(`"${scenario.name}" fails without a fault: ${warnings.join('; ')}`);
  return facts;
}

function placesIn(run: CaseRun, folder: string): PlaceFact {
  const has = (which: keyof PlaceFact): boolean => run.znode(folder, which) !== undefined;
  return { own: has('own'), predecessor: has('predecessor'), follower: has('follower') };
}

/** Plays a case; resolves with the problems that it found. */
export async function warningsOf(each: Case): Promise<readonly string[]> {
  const { scenario, strikes } = each;
  let left = [...strikes];
  const warnings = await asRequest(caseName(each), () =>
    play(
      scenario,
      (run) => {
        const counter = new FrameCounter();
        // The first fault may have cost the client what tells it of the second one, until the queue moves.
        if (strikes.length > 1) run.longestWaitMs = sessionTimeoutMs;
        run.wire.strike = (frame) => {
          const name = keyName(counter.key(frame));
          const due = left.filter(({ fact }) => keyName(fact.key) === name);
          left = left.filter((strike) => !due.includes(strike));
          for (const { fault } of due) {
            if (fault.refuses) run.permitted.add('ERR_LOCK_REQUEST_FAILED');
            const action = fault.strike(frame, run);
            // A frame has one fate: a second one that is not done would make the server lie.
            if (action !== 'pass') return action;
          }
          return due.length > 0 ? 'pass' : undefined;
        };
        return () => run.wait('the frame', () => left.length < strikes.length);
      },
      strikes,
    ),
  );
  return warnings;
}

/**
 * The time in which a call has to settle once the fault is over: the server may first have to expire a session, and a
 * client to notice that.
 */
const settleMs = 2.5 * sessionTimeoutMs;
/** A client leaves a server that does not answer after a quarter of the session timeout. */
const promptMs = 0.75 * sessionTimeoutMs;
/** The server expires a session at its next tick. */
const goneMs = 1.5 * sessionTimeoutMs;
/** Each case begins at a multiple of this, so that it meets the ticks of its servers at the same time in every run. */
const startMs = 1_000;

async function play(
  scenario: Scenario,
  prepared: (run: CaseRun) => () => Promise<void>,
  strikes: readonly Strike[] = [],
): Promise<readonly string[]> {
  const { time } = machine;
  await sleep(startMs - (time.now() % startMs));
  const run = await CaseRun.open(scenario);
  const alarm = (what: unknown): void => {
    // Scenarios of one process wait for its holds, as this warning says.
    if (what instanceof Error && what.message.includes('has waited for a second for a hold of this process')) return;
    run.warnings.push(`alarm: ${what instanceof Error ? String(what.stack) : String(what)}`);
  };
  for (const event of alarms) process.on(event, alarm);
  try {
    const act = await within(settleMs * 2, run, scenario.begin(run));
    const played = prepared(run);
    const lastsMs = strikes.reduce(
      (sum, { fault }) => sum + fault.lastsMs + (strikes.length - 1) * (fault.twoMs ?? 0),
      0,
    );
    const isPrompt = scenario.isPrompt && strikes.every(({ fault }) => fault.lastsMs === 0 && !fault.refuses);
    await within(isPrompt ? promptMs : lastsMs + settleMs, run, act());
    // Background work may send frames later.
    await within(lastsMs + settleMs, run, played());
    await within(lastsMs + settleMs, run, run.healed());
    run.wire.strike = () => undefined;
    await leavesNothing(run);
  } catch (error) {
    run.warnings.push(error instanceof Error ? error.message : String(error));
  } finally {
    await run[Symbol.asyncDispose]();
    for (const event of alarms) process.off(event, alarm);
  }
  return run.warnings;
}

/** Waits until every request is answered, and no answer leads to another request. */
function quiet(run: CaseRun): () => Promise<void> {
  const past = run.wire.frames.length;
  return async () => {
    for (let seen = -1; seen !== run.wire.frames.length; await sleep(settledMs)) {
      await run.wait('every answer', () => run.wire.isQuiet(past));
      seen = run.wire.frames.length;
    }
  };
}

/** Longer than a request and its answer take. */
const settledMs = 2;

/** Failures that no promise reports. */
const alarms = ['unhandledRejection', 'uncaughtExceptionMonitor', 'warning'] as const;

/**
 * Checks that another client can acquire the whole lock while the client under test still exists, that no znode is left,
 * neither then nor after its close, and that it leaves no timer and no connection.
 */
async function leavesNothing(run: CaseRun): Promise<void> {
  const { kind, path, owners } = run;
  const isEmpty = (): boolean => kind.folders.every((folder) => run.servers.children(`${path}${folder}`).length === 0);
  try {
    const acquiring = kind.acquireAll(run.bystander, path, { timeoutMs: ageMs });
    const holds = await within(settleMs, run, run.track('an acquire of a later client', acquiring));
    for (const hold of holds) owners.granted('a later client', hold);
    for (const hold of holds) owners.released(hold);
    await Promise.all(holds.map((hold) => hold.release()));
    await within(goneMs, run, run.wait('no znode is left', isEmpty));
    if (!run.hasSubject || run.isCrashed) return;
    await within(settleMs, run, run.close());
    await within(goneMs, run, run.wait('no znode is left after the close', isEmpty));
    const isIdle = (): boolean => machine.time.agenda.countOf(run.process) === 0;
    await within(goneMs, run, run.wait('no timer of the closed client is left', isIdle));
  } catch (error) {
    const left = kind.folders
      .flatMap((folder) => run.queue(folder))
      .map((node) => `${node.path}${node.isSubjects ? ' of the client' : ''}`);
    const text = error instanceof Error ? error.message : String(error);
    throw new Error(`${text}; the queue: ${left.join(', ') || 'empty'}`, { cause: error });
  }
}

/** Fails a hang with the list of calls that have not settled. */
async function within<T>(ms: number, run: CaseRun, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: not settled within ${ms} ms: ${run.pending.join(', ')}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
