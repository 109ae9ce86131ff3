import { Random } from '../lab/random.ts';
import { roleInMultiLock } from './owner.ts';
import type { Fault, LockPlan, Plan, Step } from './plan.ts';

/**
 * In every fourth plan, when all faults are over, clients take two locks as one, several times, and write all the while.
 * Meanwhile one of the two znodes is deleted, or its lock is taken by force: mostly during the hold, else while the call
 * waits for the second lock. The other steps of the seed stay the same.
 */
export function withMultiLocks(plan: Plan): Plan {
  const random = new Random(plan.seed, 9);
  const { locks, sessionTimeoutMs } = plan;
  const firsts = locks.flatMap((lock, index) => (isPart(lock) && isPart(afterIn(locks, index)) ? [index] : []));
  if (!random.chance(0.25) || locks.length < 2 || firsts.length === 0) return plan;
  let at = (plan.steps.at(-1)?.at ?? 0) + 4 * sessionTimeoutMs;
  const rounds = Array.from({ length: 6 }, () => {
    const first = firsts[random.whole(firsts.length)] ?? 0;
    const steps = drawRound(random, plan, first, at);
    at = Math.max(...steps.map((step) => step.at)) + sessionTimeoutMs * random.between(0.1, 1.5);
    return steps;
  });
  return { ...plan, steps: [...plan.steps, ...rounds.flat()].sort((a, b) => a.at - b.at) };
}

function drawRound(random: Random, { locks, processes, mostDelayMs }: Plan, first: number, at: number): Step[] {
  const clients = processes.reduce((sum, process) => sum + process.clients, 0);
  const second = (first + 1) % locks.length;
  const client = random.whole(clients);
  const common = { do: 'call', role: roleInMultiLock(locks[first] as LockPlan) } as const;
  const holdMs = 40 * mostDelayMs;
  const writes = Array.from({ length: 20 }, (_, index) => ({
    afterMs: 2 * index * mostDelayMs,
    fails: false,
    floats: true,
  }));
  const call: Step = {
    at,
    ...common,
    client,
    lock: first,
    how: 'multi',
    holdMs,
    writes,
    heedsLoss: random.chance(0.5),
  };
  if (random.chance(0.7)) {
    const lossAt = at + random.between(15, 50) * mostDelayMs;
    return [call, { at: lossAt, ...drawLoss(random, clients, random.pick([first, second])) }];
  }
  // Somebody else has one of the locks for a while.
  const held = random.pick([first, second]);
  const role = roleInMultiLock(locks[held] as LockPlan);
  return [
    { at: at - 20 * mostDelayMs, do: 'call', client: random.whole(clients), lock: held, how: 'plain', role, holdMs },
    call,
    { at: at + random.between(0, 30) * mostDelayMs, ...drawLoss(random, clients, held === first ? second : first) },
  ];
}

function drawLoss(random: Random, clients: number, lock: number): Fault {
  return random.chance(0.6) ? { do: 'delete', lock, index: 0 } : { do: 'force', lock, client: random.whole(clients) };
}

/** The lock with which a call takes the lock of this index together. */
function afterIn(locks: readonly LockPlan[], index: number): LockPlan {
  return locks[(index + 1) % locks.length] as LockPlan;
}

function isPart({ is }: LockPlan): boolean {
  return is !== 'election';
}
