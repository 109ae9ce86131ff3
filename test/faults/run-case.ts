import { until } from '../support/until.ts';
import type { Frame } from '../support/zk-proxy.ts';
import { asRequest } from './eavesdropper.ts';
import type { Fault, FrameFact } from './fault.ts';
import { FrameCounter, isSameKey, keyName } from './frame-key.ts';
import type { Scenario } from './scenario.ts';
import { Stage } from './stage.ts';
import { sessionTimeoutMs, type Theatre } from './theatre.ts';

export interface Case {
  readonly scenario: Scenario;
  readonly fact: FrameFact;
  readonly fault: Fault;
}

/** For what has to settle once the fault is over: the server may first have to expire a session, and a client to notice that. */
const settleMs = 2.5 * sessionTimeoutMs;
/** A server that does not answer is left after a quarter of the timeout. */
const promptMs = 0.75 * sessionTimeoutMs;
/** The server sees an expiry at its next tick, and answers a busy test process late. */
const goneMs = 1.5 * sessionTimeoutMs;

export function caseName({ scenario, fact, fault }: Case): string {
  return `${scenario.name} · ${keyName(fact.key)} · ${fault.name}`;
}

export interface Outcome {
  readonly complaints: readonly string[];
  /** Why the fault did not happen, if it did not. */
  readonly missed?: string | undefined;
}

const morePlays = 2;
const frameMissing = 'the frame did not come';

/** Plays a scenario with one fault in it; resolves with what is wrong, if anything is. */
export async function runCase(theatre: Theatre, each: Case): Promise<Outcome> {
  for (let left = morePlays; ; left -= 1) {
    const outcome = await asRequest(caseName(each), () => play(theatre, each));
    if (outcome.missed === frameMissing && left === 0) return { complaints: [frameMissing] };
    // A machine that stands still for a moment has clients reconnect on their own, and then frames go another way.
    if (outcome.complaints.length > 0 || outcome.missed === undefined || left === 0) return outcome;
  }
}

async function play(theatre: Theatre, { scenario, fact, fault }: Case): Promise<Outcome> {
  const stage = await Stage.open(theatre, scenario);
  const struck: Frame[] = [];
  try {
    if (fault.refuses) stage.permitted.add('ERR_LOCK_REQUEST_FAILED');
    const act = await within(settleMs * 2, stage, scenario.begin(stage));
    const counter = new FrameCounter(scenario);
    stage.wire.strike = (frame) => {
      const key = counter.key(frame);
      if (!key || !isSameKey(key, fact.key)) return undefined;
      struck.push(frame);
      return fault.strike(frame, stage);
    };
    const isPrompt = scenario.isPrompt && fault.lastsMs === 0 && !fault.refuses;
    await within(isPrompt ? promptMs : fault.lastsMs + settleMs, stage, act());
    // What is done in the background may come later.
    await until('the frame has come', () => struck.length > 0, sessionTimeoutMs / 2).catch(() => undefined);
    await within(fault.lastsMs + settleMs, stage, stage.healed());
    stage.wire.strike = () => undefined;
    await leavesNothing(stage);
  } catch (error) {
    stage.complaints.push(error instanceof Error ? error.message : String(error));
  } finally {
    await stage[Symbol.asyncDispose]();
  }
  return { complaints: stage.complaints, missed: struck.length === 0 ? frameMissing : stage.misses[0] };
}

/** Somebody else gets all there is, while the client under test is still there, and after its close there is no znode either. */
async function leavesNothing(stage: Stage): Promise<void> {
  const { kind, theatre, path, owners } = stage;
  const isEmpty = async (): Promise<boolean> => (await Promise.all(kind.folders.map((folder) => theatre.outside.children(`${path}${folder}`)))).flat().length === 0;
  try {
    const holds = await kind.acquireAll(theatre.fresh, path, { timeoutMs: settleMs });
    for (const hold of holds) owners.granted('who came afterwards', hold);
    for (const hold of holds) owners.released(hold);
    await Promise.all(holds.map((hold) => hold.release()));
    await until('no znode is left', isEmpty, goneMs);
    if (stage.hasSubject) await within(settleMs, stage, stage.close());
    await until('no znode is left after the close', isEmpty, goneMs);
  } catch (error) {
    const queues = await Promise.all(kind.folders.map((folder) => stage.queue(folder)));
    const left = queues.flat().map((node) => `${node.path}${node.isSubjects ? ' of the client' : ''}`);
    throw new Error(`${error instanceof Error ? error.message : String(error)}; the queue: ${left.join(', ') || 'empty'}`, { cause: error });
  }
}

/** A hang fails with what has not settled. */
export async function within<T>(ms: number, stage: Stage, promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`hangs: not settled within ${Math.round(ms)} ms: ${stage.pending.join(', ')}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
