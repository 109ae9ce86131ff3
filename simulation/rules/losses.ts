import type { ConnectionState, LossReason } from '../../src/index.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Plan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * I11: a hold is lost, and a client is suspended, only if something required it. The simulation makes every fault
 * itself, so it knows for how long each one may keep a proof from a client.
 *
 * The rule must never be wrong, so it judges only what follows from the longest times of messages (`Times`), as if each
 * one took so long. It accepts each loss of a hold
 * - if one fault took what a client without a fault has left until its deadline at any time, or if two faults came one
 *   after the other;
 * - of a client that has several calls at once, because its proofs may wait for room in the window of requests;
 * - soon after all that, and soon after the grant, when the first proofs are on their way.
 *
 * A client may be suspended only by a fault.
 */
export class Losses {
  readonly #bench: Bench;
  readonly #times: Times;
  /** The newest trouble of each client, by its name. The client that takes its place inherits it. */
  readonly #troubles = new Map<string, Trouble>();
  /** When the servers did not all follow one leader. */
  #brokenAt = -Infinity;
  /** The clients whose requests a server has put off: each other server puts off as many. */
  readonly #throttled = new Set<string>();
  /** The clients whose session may have moved to another connection, until they lose theirs. */
  readonly #moved = new Set<string>();
  /** When a client had many calls for the last time. Infinity: it has them now. */
  readonly #busyUntil = new WeakMap<object, number>();
  /** The znodes whose locks were taken by force. */
  readonly #forced = new Set<string>();

  constructor(bench: Bench, terms: LossTerms) {
    this.#bench = bench;
    this.#times = timesOf(terms);
  }

  /** A fault lasts this long. It keeps the proofs of these clients away meanwhile, and may end their connections. */
  hurt(clients: readonly string[], forMs: number, how: 'delay' | 'moved' | 'outage'): void {
    for (const client of clients) {
      if (how === 'moved') this.#moved.add(client);
      // A client that cannot reach a server may try it for a time that other rules judge. A session that has moved
      // learns of it only with its next heartbeat.
      this.#note(client, forMs * fastestClock + this.#times.dialMs, how !== 'delay');
    }
  }

  /** Each server puts off so many requests of these clients. */
  throttled(clients: readonly string[], requests: number): void {
    for (const client of clients) {
      this.#note(client, requests * this.#times.putOffMs, false);
      this.#throttled.add(client);
    }
  }

  /** The client has so many calls that have not ended. */
  opened(client: object, calls: number): void {
    if (calls > fewCalls) this.#busyUntil.set(client, Infinity);
    else if (this.#busyUntil.get(client) === Infinity) this.#busyUntil.set(client, this.#bench.now());
  }

  /** A client takes the lock of this znode by force. */
  forced(path: string): void {
    this.#forced.add(path);
  }

  isForced(path: string): boolean {
    return this.#forced.has(path);
  }

  /**
   * In a fault, a client gave up a connection on which it had asked for its session. A server may still grant it there,
   * also after the client has the session on the next connection (ZOOKEEPER-710).
   */
  gaveUp(client: string): void {
    if (!this.isCalm(client)) this.#moved.add(client);
  }

  /** True if no fault is felt, of the client or of the servers, and messages are fast. */
  isCalm(client: string): boolean {
    const troubledUntil = this.#troubles.get(client)?.endsAt ?? -Infinity;
    return (
      this.#times.isFast && !this.#moved.has(client) && ![troubledUntil, this.#brokenAt].some((at) => this.#isFelt(at))
    );
  }

  /** Called after each event. */
  look(areServersWhole: boolean): void {
    if (!areServersWhole) this.#brokenAt = this.#bench.now();
  }

  /** The application learns that the hold is lost. */
  told(claim: Claim, reason: LossReason): void {
    if (claim.isTaken || this.#isNeeded(claim, reason)) return;
    this.#bench.tell('I11', `${nameOf(claim)} is lost as ${reason} although nothing required it`);
  }

  /** The state of the client has changed. */
  changed(client: string, state: ConnectionState): void {
    if (state !== 'suspended') return;
    if (this.isCalm(client)) this.#bench.tell('I11', `${client} is suspended although nothing required it`);
    this.#moved.delete(client);
  }

  /** The pauses between several attempts to connect grow, so the rule does not know how long two faults take together. */
  #note(client: string, tookMs: number, isUnknown: boolean): void {
    const before = this.#troubles.get(client);
    const isLong = isUnknown || this.#throttled.has(client) || (before !== undefined && this.#isFelt(before.endsAt));
    this.#troubles.set(client, {
      tookMs: isLong ? Infinity : tookMs,
      endsAt: Math.max(this.#bench.now() + tookMs, before?.endsAt ?? 0),
    });
  }

  #isNeeded({ owner: { client }, at, path }: Claim, reason: LossReason): boolean {
    switch (reason) {
      case 'session-deadline':
      case 'session-expired': {
        const trouble = this.#troubles.get(client.name);
        const tookMs = trouble && this.#isFelt(trouble.endsAt) ? trouble.tookMs : 0;
        const busyUntil = this.#busyUntil.get(client) ?? -Infinity;
        return tookMs >= this.#times.spareMs || [at, busyUntil, this.#brokenAt].some((time) => this.#isFelt(time));
      }
      case 'node-deleted':
      case 'forced':
        return this.isForced(path);
      case 'lease-expired':
      case 'client-closed':
        // Other rules judge the ends of leases and the close of clients.
        return true;
    }
  }

  /** True if the effects of what ended then may not be over. */
  #isFelt(endedAt: number): boolean {
    return this.#bench.now() <= endedAt + this.#times.feltMs;
  }
}

/** One fault of a client, or several that followed each other. */
interface Trouble {
  /** The time that it took, in milliseconds. Infinity if the rule does not know it. */
  readonly tookMs: number;
  readonly endsAt: number;
}

export type LossTerms = Pick<Plan, 'sessionTimeoutMs' | 'mostDelayMs'>;

/** Milliseconds by the fastest clock, but `feltMs` by the slowest. */
interface Times {
  /** True if a client without a fault cannot take a server for a silent one. */
  readonly isFast: boolean;
  /** The time that a client without a fault has left until its deadline, at any time. 0 or less: the rule knows none. */
  readonly spareMs: number;
  /** The time until a client has another connection, and a proof on it. */
  readonly dialMs: number;
  /** The time that one request loses if it is put off. */
  readonly putOffMs: number;
  /** A deadline that was set before the end of a fault has passed then. */
  readonly feltMs: number;
}

function timesOf({ sessionTimeoutMs, mostDelayMs }: LossTerms): Times {
  const roundTripMs = 2 * mostDelayMs * fastestClock;
  const betweenServersMs = mostDelayMs * slowestBetweenServers * fastestClock;
  // A follower sends it to the leader, which proposes it to a quorum, and commits it.
  const writeMs = roundTripMs + 4 * betweenServersMs;
  const syncMs = roundTripMs + 2 * betweenServersMs;
  const connectMs = 2 * roundTripMs + 2 * betweenServersMs;
  // A write is a proof half a timeout, three writes and a sync later: it is answered, a relay time of a third passes, a
  // heartbeat is due within a sixth, and carries it. The next proof comes a heartbeat later, and the clock may forget a
  // write that another one followed within a sixteenth of the relay time. Each request may wait for one other.
  const nextProofMs = sessionTimeoutMs * (2 / 3 + 1 / 48) + 2 * (5 * writeMs + 3 * syncMs);
  // The grant of another lock may attach anew, which answers the requests in flight first.
  const attachMs = 2 * writeMs + roundTripMs + connectMs;
  // Two servers may still be behind the client, and end its connection.
  const dialMs = 3 * (roundTripMs + connectMs) + 2 * shortestPauseMs + 2 * writeMs;
  return {
    isFast: writeMs < sessionTimeoutMs / 4 && connectMs < shortestAttemptMs,
    spareMs: 0.9 * sessionTimeoutMs - nextProofMs - attachMs,
    dialMs,
    putOffMs: sessionTimeoutMs / 96 + 2 * writeMs,
    // Also the messages of a slow server arrive: an eighth of the timeout later.
    feltMs: 1.3 * sessionTimeoutMs,
  };
}

/** So many calls send fewer requests than the smallest window of a connection has room for. */
const fewCalls = 3;
/** The clock of a process may be so much faster than that of the servers. */
const fastestClock = 1.1;
/** A message between two servers takes this times the longest delay of one to a client (`delayMs` of the ensemble). */
const slowestBetweenServers = (1.5 * 20) / 4;
const shortestAttemptMs = 250;
const shortestPauseMs = 50;
