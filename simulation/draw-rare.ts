import type { Random } from '../lab/random.ts';
import type { Call, Close, Fault, LockPlan, Step } from './plan.ts';

/** The lock of a ground, and the circumstances. */
export interface GroundTerms {
  readonly plan: LockPlan;
  readonly lock: number;
  readonly clients: number;
  readonly processes: number;
  readonly members: number;
  /** The longest delay of a message, in milliseconds. */
  readonly slowest: number;
  /** The begin of the ground. */
  readonly at: number;
}

/**
 * Draws a ground whose course needs several faults, one after another, so that hardly any plan of chance comes by there.
 * Undefined for a kind of lock that has none.
 *
 * @param first the client that the faults strike
 */
export function drawRare(
  random: Random,
  terms: GroundTerms,
  first: number,
  sessionTimeoutMs: number,
): Step[] | undefined {
  const rare = new Rare(random, terms, first, sessionTimeoutMs);
  switch (terms.plan.is) {
    case 'weighted':
      return rare.overtaken();
    case 'read-write':
      return rare.downgraded();
    case 'mutex':
      return random.pick([
        () => rare.ghost(),
        () => rare.closing(),
        () => rare.closingSoon(),
        () => rare.silent(),
        () => rare.asleep(),
      ])();
    default:
      return undefined;
  }
}

class Rare {
  readonly #random: Random;
  readonly #terms: GroundTerms;
  readonly #first: number;
  readonly #timeoutMs: number;

  constructor(random: Random, terms: GroundTerms, first: number, timeoutMs: number) {
    this.#random = random;
    this.#terms = terms;
    this.#first = first;
    this.#timeoutMs = timeoutMs;
  }

  /**
   * A light waiter is overtaken often enough to be next, while its watch on the data of the lock is put off, and is lost
   * then. The claims of the heavy ones follow each other within that time.
   */
  overtaken(): Step[] {
    const random = this.#random;
    const { slowest } = this.#terms;
    const releaseMs = 12 * slowest;
    const shortMs = random.between(0, 4) * slowest;
    const claimedMs = releaseMs + random.between(1, 3) * slowest;
    const putOffMs = releaseMs + random.between(0, 5) * slowest;
    return [
      this.#call(0, this.#other(), releaseMs - 2 * slowest, { weight: 1 }),
      this.#call(3 * slowest, this.#first, 0, { weight: 1 }),
      this.#call(5 * slowest, this.#other(), 0, { weight: 2 }),
      this.#call(7 * slowest, this.#other(), shortMs, { weight: 10 }),
      this.#call(claimedMs + random.between(0, 4) * slowest, this.#other(), 3 * slowest, { weight: 10 }),
      this.#step(putOffMs, { do: 'throttle', client: this.#first, requests: 1 + random.whole(4) }),
      ...(random.chance(0.5)
        ? [this.#call(claimedMs + shortMs + random.between(0, 5) * slowest, this.#first, 0, { weight: 1 })]
        : []),
      this.#step(putOffMs + random.between(1, 20), {
        do: 'reset',
        client: this.#first,
        loses: random.pick(['nothing', 'answers']),
      }),
    ];
  }

  /** The answer to the transaction that makes a reader of a writer is lost. */
  downgraded(): Step[] {
    const { slowest } = this.#terms;
    return [
      this.#call(0, this.#first, 20, { how: 'downgrade', role: 'writer' }),
      this.#call(slowest, this.#other(), 5, { role: 'writer' }),
      this.#step(this.#random.between(1, 8) * slowest, { do: 'reset', client: this.#first, loses: 'answers' }),
    ];
  }

  /** A session is lost, and when its job ends, no server can be reached any more to close it. */
  ghost(): Step[] {
    const timeoutMs = this.#timeoutMs;
    return [
      this.#call(0, this.#first, 1.8 * timeoutMs),
      this.#step(50, { do: 'half-open', client: this.#first, direction: 'both', forMs: 1.2 * timeoutMs }),
      ...this.#blocked(1.7 * timeoutMs, 2.5 * timeoutMs, true),
      this.#call(4.6 * timeoutMs, this.#other(), 0),
    ];
  }

  /** A client closes while the deadline of its session passes. */
  closing(): Step[] {
    const timeoutMs = this.#timeoutMs;
    const closedMs = timeoutMs * this.#random.between(0.3, 1);
    return [
      this.#call(0, this.#first, 2 * timeoutMs),
      ...this.#blocked(100, 1.6 * timeoutMs, false),
      this.#step(closedMs, { do: 'close', client: this.#first, timeoutMs: 5_000, successorAfterMs: 2 * timeoutMs }),
      this.#call(2 * timeoutMs, this.#other(), 0),
    ];
  }

  /** A client closes within milliseconds of a grant, and the job ends at once. */
  closingSoon(): Step[] {
    const { slowest } = this.#terms;
    return [
      this.#call(0, this.#first, this.#timeoutMs, { heedsLoss: true }),
      this.#step(slowest * this.#random.between(1, 10), {
        do: 'close',
        client: this.#first,
        timeoutMs: 5_000,
        successorAfterMs: 20,
      }),
      this.#call(100, this.#other(), 0),
    ];
  }

  /** A client whose call waits closes when no server has answered it for long. */
  silent(): Step[] {
    const timeoutMs = this.#timeoutMs;
    return [
      this.#call(0, this.#other(), 3 * timeoutMs),
      this.#call(20, this.#first, 0),
      ...this.#blocked(200, 3.5 * timeoutMs, false),
      this.#step(timeoutMs * this.#random.between(1.5, 2.8), {
        do: 'close',
        client: this.#first,
        timeoutMs: this.#random.pick([100, 5_000]),
        successorAfterMs: timeoutMs,
      }),
    ];
  }

  /** The process of a holder sleeps while it connects again, until its deadline has passed. */
  asleep(): Step[] {
    const { slowest, processes } = this.#terms;
    return [
      this.#call(0, this.#first, 2 * this.#timeoutMs),
      this.#call(30, this.#other(), 0),
      this.#step(100, { do: 'reset', client: this.#first, loses: 'nothing' }),
      ...Array.from({ length: processes }, (_, process) =>
        this.#step(100 + this.#random.between(1, 8) * slowest, {
          do: 'stall',
          process,
          forMs: Math.round(1.2 * this.#timeoutMs),
        }),
      ),
      this.#call(2.5 * this.#timeoutMs, this.#other(), 0),
    ];
  }

  /** No process reaches any member. */
  #blocked(afterMs: number, forMs: number, isForNew: boolean): Step[] {
    const { processes, members } = this.#terms;
    return Array.from({ length: processes * members }, (_, index) =>
      this.#step(afterMs, {
        do: 'block',
        process: index % processes,
        member: Math.floor(index / processes),
        how: 'swallows',
        isForNew,
        forMs,
      }),
    );
  }

  #other(): number {
    const { clients } = this.#terms;
    return (this.#first + 1 + this.#random.whole(Math.max(1, clients - 1))) % clients;
  }

  #call(afterMs: number, client: number, holdMs: number, more: Partial<Call> = {}): Step {
    const { lock } = this.#terms;
    return this.#step(afterMs, { do: 'call', client, lock, how: 'plain', role: 'owner', holdMs, ...more });
  }

  #step(afterMs: number, what: What): Step {
    return { at: Math.round((this.#terms.at + afterMs) * 1_000) / 1_000, ...what };
  }
}

type What = Call | Close | Fault;
