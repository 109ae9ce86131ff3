import type { ConnectionState, LossReason } from '../../src/index.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Plan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * I11: a hold is lost, and a client is suspended, only if something required it. The simulation makes every fault
 * itself, so it knows for how long each one may keep a proof from a client.
 *
 * Faults that follow one another are one trouble. It is over when there was none for a session timeout, which is longer
 * than a client needs for its next proof. A client without a trouble has more than a tenth of the timeout left until its
 * deadline at any time. So a session may lose a hold only in a trouble whose faults took that long together, and a client
 * may be suspended only in a trouble.
 */
export class Losses {
  readonly #bench: Bench;
  readonly #terms: LossTerms;
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
  }

  /** A fault keeps the proofs of these clients away for this time, or ends their connections. */
  hurt(clients: readonly string[], how: number | 'cut' | 'moved'): void {
    const forMs = typeof how === 'number' ? how : this.#dialMs + (how === 'moved' ? this.#beatMs : 0);
    for (const client of clients) {
      if (how === 'moved') this.#moved.add(client);
      const before = this.#present(this.#troubles.get(client));
      // A client that goes to another server meets the requests that this server puts off.
      const putOffMs = before ? this.#terms.members * this.#putOffMs(this.#throttled.get(client) ?? 0) : 0;
      this.#troubles.set(client, {
        tookMs: forMs + putOffMs + (before?.tookMs ?? 0),
        endsAt: Math.max(this.#bench.now() + forMs + putOffMs, before?.endsAt ?? 0),
      });
    }
  }

  /** Each server puts off so many requests of these clients. */
  throttled(clients: readonly string[], requests: number): void {
    this.hurt(clients, this.#putOffMs(requests));
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
    if (state !== 'suspended') return;
    if (this.#moved.has(client) || this.#present(this.#troubles.get(client)) || this.#present(this.#ofServers)) return;
    this.#bench.tell('I11', `${client} is suspended although nothing required it`);
  }

  #putOffMs(requests: number): number {
    return requests * (this.#terms.sessionTimeoutMs / 96 + this.#roundTripMs);
  }

  get #roundTripMs(): number {
    return 2 * this.#terms.mostDelayMs;
  }

  /** The time until a client has another connection, and a proof on it. */
  get #dialMs(): number {
    return 4 * this.#roundTripMs + this.#terms.sessionTimeoutMs / 48;
  }

  /** A client learns with its next heartbeat that its session has moved. */
  get #beatMs(): number {
    return this.#terms.sessionTimeoutMs / 6;
  }

  #isNeeded(reason: LossReason, client: string, path: string): boolean {
    switch (reason) {
      case 'session-deadline':
      case 'session-expired':
        if (this.#terms.mostDelayMs > this.#terms.sessionTimeoutMs * longestDelayOfTimeout) return true;
        return [this.#troubles.get(client), this.#ofServers].some(
          (trouble) => (this.#present(trouble)?.tookMs ?? 0) >= this.#spareMs,
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

  get #spareMs(): number {
    return this.#terms.sessionTimeoutMs / 10;
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

/** A proof takes five round trips after one another. Over a slower network even a calm client may have no time left. */
const longestDelayOfTimeout = 1 / 100;

export type LossTerms = Pick<Plan, 'sessionTimeoutMs' | 'mostDelayMs' | 'members'>;
