import { until } from '../../lab/until.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { asRequest } from './eavesdropper.ts';
import type { Fault, FrameFact } from './fault.ts';
import { FrameCounter, isSameKey, keyName } from './frame-key.ts';
import type { Scenario } from './scenario.ts';
import { ageMs, CaseRun } from './case-run.ts';
import { sessionTimeoutMs, type Fixture } from './fixture.ts';

export interface Case {
  readonly scenario: Scenario;
  readonly fact: FrameFact;
  readonly fault: Fault;
}

/**
 * The time in which a call has to settle once the fault is over: the server may first have to expire a session, and a
 * client to notice that.
 */
const settleMs = 2.5 * sessionTimeoutMs;
/** A client leaves a server that does not answer after a quarter of the session timeout. */
const promptMs = 0.75 * sessionTimeoutMs;
/** The server expires a session at its next tick, and may answer a busy test process late. */
const goneMs = 1.5 * sessionTimeoutMs;

export function caseName({ scenario, fact, fault }: Case): string {
  return `${scenario.name} · ${keyName(fact.key)} · ${fault.name}`;
}

export interface Outcome {
  readonly warnings: readonly string[];
  /** The reason why the fault did not happen, if it did not. */
  readonly missed?: string | undefined;
}

const morePlays = 2;
const frameMissing = 'the frame did not come';

/** Runs a scenario with one fault; resolves with the problems that it found. */
export async function runCase(fixture: Fixture, each: Case): Promise<Outcome> {
  for (let left = morePlays; ; left -= 1) {
    const outcome = await asRequest(caseName(each), () => play(fixture, each));
    const { missed, isUnplayed } = outcome;
    if (isUnplayed && missed !== undefined && left === 0) return { warnings: [missed] };
    // On a machine that stalls for a moment clients reconnect on their own, and then the frames differ. A longer stall
    // ends the session of the client under test before the scenario is prepared.
    if (outcome.warnings.length > 0 || outcome.missed === undefined || left === 0) return outcome;
  }
}

interface Play extends Outcome {
  /** True if the fault had no chance to happen. */
  readonly isUnplayed: boolean;
}

async function play(fixture: Fixture, { scenario, fact, fault }: Case): Promise<Play> {
  const run = await CaseRun.open(fixture, scenario);
  const struck: Frame[] = [];
  let isPrepared = false;
  let notPrepared: string | undefined;
  try {
    if (fault.refuses) run.permitted.add('ERR_LOCK_REQUEST_FAILED');
    const act = await within(settleMs * 2, run, scenario.begin(run));
    isPrepared = true;
    const counter = new FrameCounter(scenario);
    run.wire.strike = (frame) => {
      const key = counter.key(frame);
      if (!key || !isSameKey(key, fact.key)) return undefined;
      struck.push(frame);
      return fault.strike(frame, run);
    };
    const isPrompt = scenario.isPrompt && fault.lastsMs === 0 && !fault.refuses;
    await within(isPrompt ? promptMs : fault.lastsMs + settleMs, run, act());
    // Background work may send the frame later.
    await until('the frame has come', () => struck.length > 0, sessionTimeoutMs / 2).catch(() => undefined);
    await within(fault.lastsMs + settleMs, run, run.healed());
    run.wire.strike = () => undefined;
    await leavesNothing(run);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    if (isPrepared) run.warnings.push(problem);
    else notPrepared = `not prepared: ${problem}`;
  } finally {
    await run[Symbol.asyncDispose]();
  }
  const unplayed = notPrepared ?? (struck.length === 0 ? frameMissing : undefined);
  return { warnings: run.warnings, missed: unplayed ?? run.misses[0], isUnplayed: unplayed !== undefined };
}

/**
 * Checks that another client can acquire the whole lock while the client under test still exists, and that no znode is
 * left, neither then nor after its close.
 */
async function leavesNothing(run: CaseRun): Promise<void> {
  const { kind, fixture, path, owners } = run;
  const isEmpty = async (): Promise<boolean> =>
    (await Promise.all(kind.folders.map((folder) => fixture.observer.children(`${path}${folder}`)))).flat().length ===
    0;
  try {
    const acquiring = kind.acquireAll(fixture.fresh, path, { timeoutMs: ageMs });
    const holds = await within(settleMs, run, run.track('an acquire of a later client', acquiring));
    for (const hold of holds) owners.granted('a later client', hold);
    for (const hold of holds) owners.released(hold);
    await Promise.all(holds.map((hold) => hold.release()));
    await within(goneMs, run, run.wait('no znode is left', isEmpty));
    if (run.hasSubject) await within(settleMs, run, run.close());
    await within(goneMs, run, run.wait('no znode is left after the close', isEmpty));
  } catch (error) {
    const queues = await Promise.all(kind.folders.map((folder) => run.queue(folder)));
    const left = queues.flat().map((node) => `${node.path}${node.isSubjects ? ' of the client' : ''}`);
    throw new Error(
      `${error instanceof Error ? error.message : String(error)}; the queue: ${left.join(', ') || 'empty'}`,
      { cause: error },
    );
  }
}

/**
 * Fails a hang with the list of calls that have not settled. The time for which a busy machine holds this process or the
 * server up does not count.
 */
export async function within<T>(ms: number, run: CaseRun, promise: Promise<T>): Promise<T> {
  const { running } = run.fixture;
  const lateAt = running.ms + ms;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const wait = (leftMs: number): void => {
      timer = setTimeout(() => {
        const stillMs = lateAt - running.ms;
        if (stillMs > 0) wait(stillMs);
        else reject(new Error(`hangs: not settled within ${Math.round(ms)} ms: ${run.pending.join(', ')}`));
      }, leftMs);
    };
    wait(ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
