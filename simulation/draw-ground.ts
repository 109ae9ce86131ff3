import { Random } from '../lab/random.ts';
import { drawRare, type GroundTerms } from './draw-rare.ts';
import type { Call, Fault, How, LockPlan, Plan, Step, WritePlan } from './plan.ts';

/**
 * Draws a plan of grounds: what has a window of one message. Each ground has a lock of its own, at which a few calls come
 * within milliseconds. Around one moment, mostly a release, further calls, transactions and faults happen within ten
 * milliseconds. No later call of the same lock wakes a waiter that was forgotten.
 */
export function drawGround(seed: number, { steps: count = 100, members = 3 } = {}): Plan {
  const random = new Random(seed, 6);
  const sessionTimeoutMs = random.pick([2_000, 4_000]);
  const slowest = random.pick([2, 10]);
  const drifts = random.chance(0.2);
  const processes = Array.from({ length: 2 + random.whole(2) }, () => ({
    clients: 1 + random.whole(2),
    clockRate: drifts ? random.between(0.91, 1.09) : 1,
    clockOffsetMs: Math.floor(random.between(0, 1e6)),
  }));
  const clients = processes.reduce((sum, process) => sum + process.clients, 0);
  const isOfOneKind = random.chance(0.7);
  const kind = random.pick(kinds);
  const locks = Array.from({ length: Math.ceil(count / stepsOfGround) }, (_, index) =>
    lockOf(random, isOfOneKind ? kind : random.pick(kinds), `/locks/${index}`),
  );
  let at = 200;
  const steps = locks.flatMap((plan, lock) => {
    // A session that was quiet for its timeout attaches anew.
    at += random.chance(0.4) ? sessionTimeoutMs * random.pick([0.6, 1.6, 2.4]) : random.between(20, 200);
    const ground = new Ground(random, { plan, lock, clients, processes: processes.length, members, slowest, at });
    const drawn = ground.draw(sessionTimeoutMs);
    at = Math.max(...drawn.map((step) => step.at));
    return drawn;
  });
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
    steps: steps.sort((a, b) => a.at - b.at),
  };
}

/** The calls of one lock, and the faults around one moment. */
class Ground {
  readonly #random: Random;
  readonly #terms: GroundTerms;
  /** The client to which most happens. */
  readonly #first: number;
  readonly #holdMs: number;

  constructor(random: Random, terms: GroundTerms) {
    this.#random = random;
    this.#terms = terms;
    this.#first = random.whole(terms.clients);
    this.#holdMs = random.pick([0, 5, 20, 20, 60, 150]);
  }

  draw(sessionTimeoutMs: number): Step[] {
    const random = this.#random;
    const { at, slowest } = this.#terms;
    const rare = random.chance(0.3) && drawRare(random, this.#terms, this.#first, sessionTimeoutMs);
    if (rare) return rare;
    const comeWithinMs = random.pick([2, 10, this.#holdMs + 5]);
    const calls = Array.from({ length: 2 + random.whole(4) }, (_, index) => ({
      at: at + (index === 0 ? 0 : random.between(0, comeWithinMs)),
      ...this.#call(index === 0 ? this.#holdMs : random.pick([0, 2, 5, 20, 60])),
    }));
    const moment = (): number => at + random.pick(this.#moments) + random.between(-1, 2) * slowest;
    const faults = Array.from({ length: random.pick([0, 1, 1, 2, 2, 3]) }, () => ({
      at: moment(),
      ...this.#fault(sessionTimeoutMs),
    }));
    // Two faults in one window, such as a request that was put off and lost then.
    const [first] = faults;
    if (first && faults.length > 1 && random.chance(0.4)) {
      const last = faults[faults.length - 1] as (typeof faults)[number];
      last.at = first.at + random.between(0, random.pick([3, 40]));
    }
    const later = Array.from({ length: random.whole(3) }, () => ({ at: moment(), ...this.#call(random.pick([0, 5])) }));
    return [...calls, ...faults, ...later, ...this.#goingOn(sessionTimeoutMs)].map((step) => ({
      ...step,
      at: Math.round(step.at * 1_000) / 1_000,
    }));
  }

  /** The process of a sticky lock goes on to use it, while another one waits. */
  #goingOn(sessionTimeoutMs: number): Step[] {
    const random = this.#random;
    const { plan, lock, at } = this.#terms;
    if (plan.is !== 'sticky' || !random.chance(0.4)) return [];
    const gapMs = random.pick([10, 40, 150]);
    const count = Math.min(60, Math.ceil((2 * sessionTimeoutMs) / gapMs));
    return Array.from({ length: count }, (_, index) => ({
      at: at + index * gapMs,
      do: 'call',
      client: this.#first,
      lock,
      how: 'plain',
      role: 'owner',
      holdMs: random.pick([0, gapMs / 2, 1.5 * gapMs]),
    }));
  }

  /** The moments of the first call: it asks, is granted, releases, and its successor learns of that. */
  get #moments(): Choices<number> {
    const roundTripMs = 2 * this.#terms.slowest;
    const releaseMs = roundTripMs + this.#holdMs;
    return [
      0,
      roundTripMs,
      // A session that was quiet attaches anew before the grant.
      2 * roundTripMs,
      4 * roundTripMs,
      releaseMs,
      releaseMs,
      releaseMs,
      releaseMs + roundTripMs,
    ];
  }

  #client(): number {
    return this.#random.chance(0.5) ? this.#first : this.#random.whole(this.#terms.clients);
  }

  #call(holdMs: number): Call {
    const random = this.#random;
    const { plan, lock } = this.#terms;
    const { is } = plan;
    const how = random.pick(howsOf(is));
    return {
      do: 'call',
      client: this.#client(),
      lock,
      how,
      role: is === 'semaphore' ? 'lease' : is === 'read-write' ? random.pick(['reader', 'writer']) : 'owner',
      holdMs,
      ...(random.chance(0.1) && how !== 'lead' && { timeoutMs: Math.round(random.between(0, 2 * this.#holdMs + 10)) }),
      ...(is === 'weighted' && { weight: random.pick([1, 1, 2, 2, 3, 10]) }),
      ...(random.chance(0.3) && { writes: [this.#write(holdMs)] }),
      ...(is === 'election' && random.chance(0.3) && { asksLeader: true }),
      ...(how === 'lead' && random.chance(0.4) && { throws: true }),
      ...(random.chance(0.2) && { heedsLoss: true }),
    };
  }

  /** Around the release. */
  #write(holdMs: number): WritePlan {
    const random = this.#random;
    return {
      afterMs: Math.max(0, Math.round((holdMs + random.between(-3, 3)) * 10) / 10),
      fails: random.chance(0.1),
      floats: random.chance(0.8),
    };
  }

  #fault(sessionTimeoutMs: number): Fault {
    const random = this.#random;
    const { plan, lock, members, processes, slowest } = this.#terms;
    if (plan.is === 'semaphore' && plan.sharedCount !== undefined && random.chance(0.5))
      return { do: 'count', lock, count: 1 + random.whole(plan.maxLeases) };
    const client = this.#client();
    const forMs = Math.round(random.pick([2 * slowest, 20, 100, 0.3 * sessionTimeoutMs, 1.3 * sessionTimeoutMs]));
    switch (random.whole(13)) {
      case 0:
      case 1:
      case 2:
        return {
          do: 'reset',
          client,
          loses: random.pick(['both', 'answers', 'nothing']),
        };
      case 3:
      case 4:
        return { do: 'delete', lock, index: random.whole(3) };
      case 5:
        return { do: 'throttle', client, requests: 1 + random.whole(4) };
      case 6:
        return {
          do: 'half-open',
          client,
          direction: random.pick(['both', 'to server', 'to client']),
          forMs,
        };
      case 7:
        return { do: 'slow', client, byMs: random.pick([5, 30, 200]), forMs };
      case 8:
        return { do: 'stall', process: random.whole(processes), forMs };
      case 9:
        return { do: 'attach', client, member: random.whole(members) };
      case 10:
        return { do: random.pick(['force', 'revoke', 'expire']), client, lock };
      case 11:
        return {
          do: 'block',
          process: random.whole(processes),
          member: random.whole(members),
          how: random.pick(['refuses', 'swallows']),
          isForNew: random.chance(0.5),
          forMs,
        };
      default:
        return {
          do: 'server',
          member: random.whole(members),
          how: random.pick(['cut', 'slow', 'stop', 'depose']),
          forMs,
        };
    }
  }
}

function lockOf(random: Random, is: LockPlan['is'], path: string): LockPlan {
  switch (is) {
    case 'sticky':
      return { path, is, idleMs: random.pick([500, 5_000]) };
    case 'weighted':
      return { path, is, overtakesPerWeight: 1 + random.whole(2) };
    case 'semaphore':
      return random.chance(0.5)
        ? { path, is, maxLeases: 2 }
        : { path, is, maxLeases: 3, sharedCount: path.replace('/locks/', '/count-') };
    case 'election':
      return { path, is, protocol: random.pick(['latch', 'selector']) };
    default:
      return { path, is };
  }
}

function howsOf(is: LockPlan['is']): Choices<How> {
  switch (is) {
    case 'election':
      return ['plain', 'job', 'lead'];
    case 'semaphore':
      return ['plain', 'many', 'try'];
    case 'semaphore-mutex':
      return ['plain', 'plain', 'multi'];
    case 'read-write':
      return ['plain', 'plain', 'downgrade', 're-entrant', 'multi'];
    default:
      return ['plain', 'plain', 'plain', 'plain', 'job', 'try', 're-entrant', 'multi'];
  }
}

type Choices<T> = readonly [T, ...T[]];

const kinds = [
  'mutex',
  'mutex',
  'mutex',
  'sticky',
  'sticky',
  'weighted',
  'weighted',
  'read-write',
  'semaphore',
  'semaphore-mutex',
  'election',
] as const;

const stepsOfGround = 8;
