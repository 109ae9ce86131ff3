import type { ConnectionState, LossReason } from '../../src/index.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Plan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * I11: a hold is lost, and a client is suspended, only if something required it. The simulation makes every fault
 * itself, so it knows for how long each one may keep a proof from a client.
 *
 * Faults that follow one another are one trouble. It is over when there was none for a session timeout, which is longer
 * than a client needs for its next proof. A session may lose a hold only in a trouble whose faults took together what a
 * client without a trouble has left until its deadline at any time. A client may be suspended only in a trouble.
 *
 * What is left follows from the longest times of messages (`Times`), as if each one took so long. Where nothing is left,
 * the rule accepts every loss.
 */
export class Losses {
  readonly #bench: Bench;
  readonly #terms: LossTerms;
  readonly #times: Times;
  /** The newest trouble of each client, by its name. The client that takes its place inherits it. */
  readonly #troubles = new Map<string, Trouble>();
  /** The newest trouble of all clients: the servers do not all follow one leader. */
  #ofServers: Trouble | undefined;
  /** The number of requests that each server may put off, by the name of the client. */
  readonly #throttled = new Map<string, number>();
  /** The clients whose session was attached to by another connection, until they have a new one. */
  readonly #moved = new Set<string>();
  /** The znodes whose locks were taken by force. */
  readonly #forced = new Set<string>();

  constructor(bench: Bench, terms: LossTerms) {
    this.#bench = bench;
    this.#terms = terms;
    this.#times = timesOf(terms);
  }

  /** A fault lasts this long. It keeps the proofs of these clients away meanwhile, and may end their connections. */
  hurt(clients: readonly string[], forMs: number, how: 'delay' | 'moved' | 'outage'): void {
    const { dialMs, beatMs, putOffMs } = this.#times;
    const tookMs = forMs + dialMs + (how === 'moved' ? beatMs : 0);
    for (const client of clients) {
      if (how === 'moved') this.#moved.add(client);
      const before = this.#present(this.#troubles.get(client));
      // A client that goes to another server meets the requests that this server puts off.
      const againMs = before ? this.#terms.members * putOffMs * (this.#throttled.get(client) ?? 0) : 0;
      this.#troubles.set(client, {
        // A client that cannot reach a server may try it for a time that other rules judge.
        tookMs: how === 'outage' ? Infinity : tookMs + againMs + (before?.tookMs ?? 0),
        endsAt: Math.max(this.#bench.now() + tookMs + againMs, before?.endsAt ?? 0),
      });
    }
  }

  /** Each server puts off so many requests of these clients. */
  throttled(clients: readonly string[], requests: number): void {
    this.hurt(clients, requests * this.#times.putOffMs, 'delay');
    for (const client of clients) this.#throttled.set(client, Math.max(requests, this.#throttled.get(client) ?? 0));
  }

  /** A client takes the lock of this znode by force. */
  forced(path: string): void {
    this.#forced.add(path);
  }

  /** Called after each event. */
  look(areServersWhole: boolean): void {
    if (!areServersWhole) this.#ofServers = { tookMs: Infinity, endsAt: this.#bench.now() };
  }

  /** The application learns that the hold is lost. */
  told(claim: Claim, reason: LossReason): void {
    const { owner, isTaken, path } = claim;
    if (isTaken || this.#isNeeded(reason, owner.client.name, path)) return;
    this.#bench.tell('I11', `${nameOf(claim)} is lost as ${reason} although nothing required it`);
  }

  /** The state of the client has changed. */
  changed(client: string, state: ConnectionState): void {
    if (state === 'reconnected') this.#moved.delete(client);
    if (state !== 'suspended' || !this.#times.isFast) return;
    if (this.#moved.has(client) || this.#present(this.#troubles.get(client)) || this.#present(this.#ofServers)) return;
    this.#bench.tell('I11', `${client} is suspended although nothing required it`);
  }

  #isNeeded(reason: LossReason, client: string, path: string): boolean {
    switch (reason) {
      case 'session-deadline':
      case 'session-expired':
        if (this.#times.spareMs <= 0) return true;
        return [this.#troubles.get(client), this.#ofServers].some(
          (trouble) => (this.#present(trouble)?.tookMs ?? 0) >= this.#times.spareMs,
        );
      case 'node-deleted':
      case 'forced':
        return this.#forced.has(path);
      case 'lease-expired':
      case 'client-closed':
        // Other rules judge the ends of leases and the close of clients.
        return true;
    }
  }

  /** The trouble, unless its effects are over. */
  #present(trouble: Trouble | undefined): Trouble | undefined {
    return trouble && this.#bench.now() <= trouble.endsAt + this.#terms.sessionTimeoutMs ? trouble : undefined;
  }
}

/** The faults of a client that followed each other. */
interface Trouble {
  /** The sum of their times, in milliseconds. */
  readonly tookMs: number;
  /** The end of the last one. */
  readonly endsAt: number;
}

export type LossTerms = Pick<Plan, 'sessionTimeoutMs' | 'mostDelayMs' | 'members'>;

/** Milliseconds. */
interface Times {
  /** True if a calm client can neither take a server for a silent one, nor fail to attach. */
  readonly isFast: boolean;
  /** The time that a calm client has left until its deadline, at any time. */
  readonly spareMs: number;
  /** The time until a client has another connection, and a proof on it. */
  readonly dialMs: number;
  /** A client learns with its next heartbeat that its session has moved. */
  readonly beatMs: number;
  /** The time that one request loses if it is put off. */
  readonly putOffMs: number;
}

function timesOf({ sessionTimeoutMs, mostDelayMs }: LossTerms): Times {
  const roundTripMs = 2 * mostDelayMs * fastestClock;
  const betweenServersMs = mostDelayMs * slowestBetweenServers * fastestClock;
  // A follower sends it to the leader, which proposes it to a quorum, and commits it.
  const writeMs = roundTripMs + 4 * betweenServersMs;
  const syncMs = roundTripMs + 2 * betweenServersMs;
  const connectMs = 2 * roundTripMs + 2 * betweenServersMs;
  // A write is a proof half a timeout, three writes and two syncs later: it is answered, a relay time of a third passes, a
  // heartbeat is due within a sixth, and carries it. The next proof comes a heartbeat later. Its deadline is 0.9 timeouts.
  const nextProofMs = (sessionTimeoutMs * 2) / 3 + 4 * writeMs + 3 * syncMs;
  return {
    isFast: writeMs < sessionTimeoutMs / 4 && connectMs < shortestAttemptMs,
    spareMs: 0.9 * sessionTimeoutMs - nextProofMs,
    dialMs: sessionTimeoutMs / 48 + roundTripMs + connectMs + writeMs,
    beatMs: sessionTimeoutMs / 6,
    putOffMs: sessionTimeoutMs / 96 + writeMs,
  };
}

/** The clock of a process may be so much faster than that of the servers. */
const fastestClock = 1.1;
/** A message between two servers takes this times the longest delay of one to a client (`delayMs` of the ensemble). */
const slowestBetweenServers = (1.5 * 20) / 4;
const shortestAttemptMs = 250;
