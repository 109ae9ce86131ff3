import { isDeepStrictEqual } from 'node:util';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { codeFaults } from './code-faults.ts';
import type { Fault, FrameFact, PlaceFact } from './fault.ts';
import { deletedBy, FrameCounter, keyName } from './frame-key.ts';
import { mutex } from './kinds.ts';
import { linkFaults } from './link-faults.ts';
import { within, type Case } from './run-case.ts';
import type { Scenario } from './scenario.ts';
import { serverFaults, turnFaults } from './server-faults.ts';
import { CaseRun } from './case-run.ts';
import { sessionTimeoutMs, type Fixture } from './fixture.ts';
import { isAnswered } from './wire.ts';

const dryRuns = 5;

const faults: readonly Fault[] = [...linkFaults, ...serverFaults, ...codeFaults];

/** The faults that can happen to this kind of lock. */
export function faultsOf({ kind = mutex }: Scenario): readonly Fault[] {
  return kind.folders.length > 1 ? [...faults, ...turnFaults] : faults;
}

/** A fault that cannot happen to a frame, and why. */
export interface Unreachable {
  readonly name: string;
  readonly why: string;
}

/** Every fault at every frame: the cases that can happen, and those that cannot. */
export function enumerate(
  scenario: Scenario,
  facts: readonly FrameFact[],
): { readonly cases: Case[]; readonly unreachable: Unreachable[] } {
  const cases: Case[] = [];
  const unreachable: Unreachable[] = [];
  for (const fact of facts) {
    for (const fault of faultsOf(scenario)) {
      const why = fault.excludes(fact);
      if (why === undefined) cases.push({ scenario, fact, fault });
      else unreachable.push({ name: `${keyName(fact.key)} · ${fault.name}`, why });
    }
  }
  return { cases, unreachable };
}

/**
 * The frames of a scenario, once two runs without a fault agree. On a machine that stalls for a moment a client may
 * reconnect, and on a slow one a timeout may come before the last requests of a wait.
 */
export async function factsOf(fixture: Fixture, scenario: Scenario): Promise<FrameFact[]> {
  let last = await dryRun(fixture, scenario);
  let short: FrameFact[] | undefined;
  for (let left = dryRuns; left > 0; left -= 1) {
    const next = await dryRun(fixture, scenario);
    if (isDeepStrictEqual(namesOf(last), namesOf(next))) {
      if (next.length >= scenario.frames) return next;
      short = next;
    }
    last = next;
  }
  if (short) return short;
  throw new Error(`"${scenario.name}" had other frames in each run: ${namesOf(last).join(', ')}`);
}

/** The names, sorted, because the order of the two directions of a connection depends on microseconds. */
function namesOf(facts: readonly FrameFact[]): string[] {
  return facts.map(({ key }) => keyName(key)).sort();
}

/** Runs a scenario without a fault, and records at every frame which znodes exist on the server. */
async function dryRun(fixture: Fixture, scenario: Scenario): Promise<FrameFact[]> {
  await using run = await CaseRun.open(fixture, scenario);
  const play = await within(5 * sessionTimeoutMs, run, scenario.begin(run));
  const facts: FrameFact[] = [];
  const past = run.wire.frames.length;
  const begun: Frame[] = [];
  const counter = new FrameCounter(scenario);
  run.wire.strike = (frame) => {
    const key = counter.key(frame);
    if (!key) return undefined;
    const index = facts.length;
    facts.push({ key, hasSession: run.hasSubject, places: [] });
    // These requests are held here while we look; in other runs the server has executed them by now.
    const arrived = run.wire.frames.slice(past);
    const leaving = [...begun, ...arrived.filter(isLeaving)].filter(
      (one) => one !== frame && !isAnswered(one, arrived),
    );
    if (isLeaving(frame)) begun.push(frame);
    const placeIn = async (folder: string): Promise<PlaceFact> => {
      const queue = await run.queue(folder);
      const stays = queue.map(
        ({ path }) => !leaving.some((one) => one.op === 'closeSession' || deletedBy(one) === path),
      );
      const own = queue.findLastIndex(({ isSubjects }, at) => isSubjects && stays[at]);
      return { hasOwnNode: own >= 0, hasPredecessor: own > 0 && stays[own - 1] === true };
    };
    const looked = Promise.all(run.kind.folders.map(placeIn)).then((places) => {
      facts[index] = { key, hasSession: run.hasSubject, places };
    });
    return { delayUntil: run.freezes(looked) };
  };
  await within(5 * sessionTimeoutMs, run, play());
  await within(
    sessionTimeoutMs,
    run,
    run.wait('every answer', () => run.wire.isQuiet(past)),
  );
  await run.healed();
  run.wire.strike = () => undefined;
  const problems = [...run.warnings, ...run.misses];
  if (problems.length > 0) throw new Error(`"${scenario.name}" fails without a fault: ${problems.join('; ')}`);
  return facts;
}

function isLeaving(frame: Frame): boolean {
  return frame.from === 'client' && (frame.op === 'closeSession' || deletedBy(frame) !== undefined);
}
