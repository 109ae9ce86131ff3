import type { Random } from '../lab/random.ts';
import type { Mood } from './mood.ts';
import type { Call, Close, How, LockPlan, Role, WritePlan } from './plan.ts';

export function drawCall(random: Random, mood: CallMood): Call {
  const lock = random.chance(0.7) ? mood.favourite : random.whole(mood.locks.length);
  const plan = mood.locks[lock] as LockPlan;
  const { is, isRevocable = false } = plan;
  const isLong = random.chance(0.1);
  // Longer than the time within which a holder learns of a request to release.
  const longestMs = mood.sessionTimeoutMs * (isRevocable ? 3 : 1.5);
  const holdMs = Math.round(random.between(0, isLong ? longestMs : 3 * mood.gapMs));
  const call = {
    do: 'call',
    client: random.whole(mood.clients),
    lock,
    how: howOf(random, is),
    role: roleOf(random, is),
    holdMs,
  } as const;
  const isPatient = !random.chance(mood.impatience);
  const limit = random.whole(8);
  const patienceMs = Math.round(random.between(0, random.pick([1_500, 20 * mood.gapMs])));
  const isAbortable = call.how !== 'job' && call.how !== 'lead';
  const hasLease = limit === 2 || (call.how === 'lead' && random.chance(0.3));
  return {
    ...call,
    ...((limit === 0 || (!isPatient && limit < 4)) && { timeoutMs: patienceMs }),
    ...((limit === 7 || (!isPatient && limit >= 4)) && isAbortable && { abortAfterMs: patienceMs }),
    ...(hasLease && is !== 'semaphore-mutex' && drawLease(random, holdMs)),
    ...(is === 'weighted' && { weight: 1 + random.whole(10) }),
    ...(random.chance(0.25) && { writes: drawWrites(random, holdMs) }),
    ...(is === 'election' && random.chance(0.3) && { asksLeader: true }),
    ...(random.chance(0.3) && { heedsLoss: true }),
  };
}

type CallMood = Pick<Mood, 'clients' | 'favourite' | 'gapMs' | 'impatience' | 'locks' | 'sessionTimeoutMs'>;

export function drawClose(random: Random, mood: Mood): Close {
  return {
    do: 'close',
    client: random.whole(mood.clients),
    timeoutMs: Math.round(random.between(0, random.pick([10, 1_000, 5_000]))),
    successorAfterMs: Math.round(random.between(0, mood.sessionTimeoutMs)),
  };
}

/** Half of the leases may end before their jobs do. */
function drawLease(random: Random, holdMs: number): Pick<Call, 'leaseMs' | 'renewEveryMs'> {
  const leaseMs = Math.round(random.between(20, random.pick([2_000, 20 + holdMs / 2])));
  return random.chance(0.4) ? { leaseMs, renewEveryMs: Math.round(random.between(1, leaseMs - 1)) } : { leaseMs };
}

/** Some begin after the job has ended. */
function drawWrites(random: Random, holdMs: number): WritePlan[] {
  return Array.from({ length: 1 + random.whole(3) }, () => ({
    afterMs: Math.round(random.between(0, holdMs * 1.1)),
    fails: random.chance(0.15),
    floats: random.chance(0.4),
  })).sort((a, b) => a.afterMs - b.afterMs);
}

function howOf(random: Random, is: LockPlan['is']): How {
  const plain = ['plain', 'plain', 'plain', 'plain', 'job', 'handler', 'outliving'] as const;
  if (is === 'election') return random.pick([...plain, 're-entrant', 'bound', 'lead', 'lead']);
  const common = [...plain, 'try'] as const;
  if (is === 'semaphore') return random.pick([...common, 'many']);
  if (is === 'semaphore-mutex') return random.pick([...common, 'multi']);
  if (is === 'read-write') return random.pick([...common, 're-entrant', 'downgrade', 'multi', 'bound']);
  return random.pick([...common, 're-entrant', 'multi', 'bound']);
}

function roleOf(random: Random, is: LockPlan['is']): Role {
  if (is === 'semaphore') return 'lease';
  if (is === 'read-write') return random.chance(0.6) ? 'reader' : 'writer';
  return 'owner';
}
