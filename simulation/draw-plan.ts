import { Random } from '../lab/random.ts';
import { drawCall, drawClose } from './draw-call.ts';
import { drawCoda } from './draw-coda.ts';
import type { Mood } from './mood.ts';
import type { Burst, Call, Close, Fault, LockPlan, Plan, ProcessPlan, Step } from './plan.ts';
import { clientsOf } from './plan.ts';

/** Draws the plan of a seed. */
export function drawPlan(seed: number, { steps: count = 100, members = 3 } = {}): Plan {
  const random = new Random(seed, 0);
  const sessionTimeoutMs = random.pick([2_000, 4_000, 8_000]);
  const processes = drawProcesses(random);
  const locks = drawLocks(random);
  const slowest = random.pick([2, 10, 40]);
  const mood: Mood = {
    faultShare: random.pick([0.2, 0.5, 0.85]),
    impatience: random.pick([0, 0, 0.7]),
    gapMs: random.pick([5, 30, 150]),
    pauseShare: random.pick([0, 0.02, 0.06]),
    sessionTimeoutMs,
    slowest,
    clients: clientsOf(processes),
    processes: processes.length,
    members,
    locks,
    favourite: random.whole(locks.length),
  };
  return {
    seed,
    members,
    tickTimeMs: 500,
    sessionTimeoutMs,
    leastDelayMs: slowest / 10,
    mostDelayMs: slowest,
    knowsTick: random.chance(0.3),
    processes,
    locks,
    steps: withCoda(seed, mood, drawSteps(random, mood, count)),
  };
}

/** The steps are those of the same seed without a coda. The rule of losses judges no hold over a slower network. */
function withCoda(seed: number, mood: Mood, steps: Step[]): Step[] {
  if (mood.slowest > mood.sessionTimeoutMs / 1_000) return steps;
  const last = steps.at(-1)?.at ?? 0;
  return [...steps, ...drawCoda(new Random(seed, 3), mood, last + 2.5 * mood.sessionTimeoutMs)];
}

function drawProcesses(random: Random): ProcessPlan[] {
  // Two clocks may differ by less than a tenth. The servers' is perfect.
  const drifts = random.chance(0.5);
  return Array.from({ length: 2 + random.whole(4) }, () => ({
    clients: 1 + random.whole(2),
    clockRate: drifts ? random.between(0.91, 1.09) : 1,
    clockOffsetMs: Math.floor(random.between(0, 1e6)),
  }));
}

function drawLocks(random: Random): LockPlan[] {
  return Array.from({ length: 1 + random.whole(2) }, (_, index): LockPlan => {
    const path = `/locks/${'ab'[index] ?? ''}`;
    const isRevocable = random.chance(0.3);
    switch (random.whole(10)) {
      case 0:
        return { path, is: 'sticky', idleMs: random.pick([0, 500, 5_000]), isRevocable };
      case 1:
        return { path, is: 'weighted', overtakesPerWeight: 1 + random.whole(3), isRevocable };
      case 2:
        return { path, is: 'read-write', isRevocable };
      case 3:
        return { path, is: 'semaphore', maxLeases: 2 + random.whole(2) };
      case 4:
        return { path, is: 'semaphore-mutex' };
      case 5:
      case 6:
        return { path, is: 'election', protocol: random.pick(['latch', 'selector']), isRevocable };
      default:
        return { path, is: 'mutex', isRevocable };
    }
  });
}

function drawSteps(random: Random, mood: Mood, count: number): Step[] {
  let at = 200;
  return Array.from({ length: count }, (): Step => {
    at += random.chance(mood.pauseShare)
      ? mood.sessionTimeoutMs * random.between(0.3, 2.2)
      : -Math.log(1 - random.next()) * mood.gapMs;
    return {
      at: Math.round(at * 1_000) / 1_000,
      ...drawStep(random, mood),
    };
  });
}

function drawStep(random: Random, mood: Mood): Call | Burst | Close | Fault {
  if (random.chance(mood.faultShare)) return drawFault(random, mood);
  if (random.chance(0.03)) return drawClose(random, mood);
  if (random.chance(0.01)) return { do: 'burst', client: random.whole(mood.clients), locks: 100 + random.whole(300) };
  return drawCall(random, mood);
}

function drawFault(random: Random, mood: Mood): Fault {
  const { sessionTimeoutMs } = mood;
  const client = random.whole(mood.clients);
  const process = random.whole(mood.processes);
  const member = random.whole(mood.members);
  const forMs = Math.round(sessionTimeoutMs * random.pick([0.05, 0.3, 0.7, 1.3]) * random.between(0.5, 1.5));
  switch (random.whole(16)) {
    case 0:
    case 1:
    case 2:
      return { do: 'reset', client, loses: random.pick(['both', 'answers', 'answers', 'nothing']) };
    case 3:
    case 4:
      return { do: 'half-open', client, direction: random.pick(['both', 'to server', 'to client']), forMs };
    case 5:
      return {
        do: 'block',
        process,
        member,
        how: random.pick(['refuses', 'swallows']),
        isForNew: random.chance(0.5),
        forMs,
      };
    case 6:
      return { do: 'slow', client, byMs: Math.round(random.between(1, sessionTimeoutMs / 4)), forMs };
    case 7:
      return { do: 'attach', client, member };
    case 8:
      return { do: 'stall', process, forMs };
    case 9:
      return { do: 'crash', process, isSilent: random.chance(0.3), restartAfterMs: forMs };
    case 10:
      return { do: 'expire', client };
    case 11:
      return { do: 'delete', lock: random.whole(mood.locks.length), index: random.whole(3) };
    case 12:
      return { do: random.pick(['force', 'revoke']), client, lock: random.whole(mood.locks.length) };
    case 13:
      return { do: 'throttle', client, requests: 1 + random.whole(random.pick([2, 20])) };
    default:
      return { do: 'server', member, how: random.pick(['crash', 'cut', 'depose', 'slow', 'stop']), forMs };
  }
}
