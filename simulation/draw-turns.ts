import { Random } from '../lab/random.ts';
import { roleInMultiLock } from './owner.ts';
import type { Call, LockPlan, Plan, ProcessPlan, Step } from './plan.ts';

/**
 * In every fourth plan a process is so busy that several messages arrive in one chunk: answers, older lists and events
 * come together there. When all faults are over, its clients and some others want one lock for a moment, several times.
 * The other steps of the seed stay the same.
 */
export function withTurns(plan: Plan): Plan {
  const random = new Random(plan.seed, 8);
  if (!random.chance(0.25)) return plan;
  const { processes, locks, mostDelayMs, sessionTimeoutMs } = plan;
  const busy = random.whole(processes.length);
  const lock = random.whole(locks.length);
  const healedAt = (plan.steps.at(-1)?.at ?? 0) + 2.5 * sessionTimeoutMs;
  // A session may have moved, of which a quiet client learns only then.
  const resets = processes
    .flatMap(({ clients }) => Array.from({ length: clients }))
    .map((_, client): Step => ({ at: healedAt, do: 'reset', client, loses: 'nothing' }));
  let at = healedAt + 1.5 * sessionTimeoutMs;
  const rushes = Array.from({ length: 60 }, (): Step => {
    at += mostDelayMs * (random.chance(0.15) ? 20 : random.between(0, 0.4));
    return { at, ...drawCall(random, plan, busy, lock) };
  });
  return {
    ...plan,
    turnMs: mostDelayMs * random.pick([0.5, 0.8, 0.9]),
    leastDelayMs: mostDelayMs / 100,
    processes: processes.map((each, index) => ({ ...each, isBusy: index === busy || random.chance(0.3) })),
    steps: [...plan.steps, ...resets, ...rushes],
  };
}

/** Every second call gives up before long, so that waiters go from any place of the queue. */
function drawCall(random: Random, { processes, locks, mostDelayMs }: Plan, busy: number, lock: number): Call {
  const numbers = processes.flatMap(({ clients }, process) => Array.from({ length: clients }, () => process));
  const own = numbers.indexOf(busy) + random.whole((processes[busy] as ProcessPlan).clients);
  const plan = locks[lock] as LockPlan;
  return {
    do: 'call',
    client: random.chance(0.5) ? own : random.whole(numbers.length),
    lock,
    how: 'plain',
    role: roleInMultiLock(plan),
    holdMs: mostDelayMs * random.pick([0, 0, 0.5]),
    ...(random.chance(0.5) && { timeoutMs: Math.ceil(mostDelayMs * random.between(0, 4)) }),
  };
}
