import { nameOf, type Claim } from '../claim.ts';
import type { SimClient } from '../sim-client.ts';
import { wakingMs, type Bench } from './bench.ts';

/**
 * A client that was closed: its holds have ended when `close` resolves. When the jobs of these holds have ended too, it
 * has no timer and no connection left, and sends nothing any more (I9). A connection that asked for a session, and was
 * given up before the answer, may stay for two seconds, with a timer: it closes the session that is granted late.
 */
export class Closed {
  readonly #bench: Bench;
  readonly #connectionsOf: (client: SimClient) => Connections;
  /** The clients whose `close` has resolved, and that still have calls. */
  readonly #ending = new Set<SimClient>();
  /** The clients whose connections close late sessions, and the times when these connections must have ended. */
  readonly #late = new Map<SimClient, number>();
  readonly #ended = new WeakSet<SimClient>();

  constructor(bench: Bench, connectionsOf: (client: SimClient) => Connections) {
    this.#bench = bench;
    this.#connectionsOf = connectionsOf;
  }

  /** `close` has resolved. */
  closed(client: SimClient, claims: readonly Claim[]): void {
    for (const claim of claims)
      if (claim.owner.client === client && !claim.isReleased && !claim.isTold)
        this.#bench.tell('close', `${nameOf(claim)} still has its lock after the close of its client`);
    this.#ending.add(client);
  }

  wrote(client: SimClient): void {
    if (this.#ended.has(client)) this.#bench.tell('I9', `${client.name} sends a transaction after its close`);
  }

  look(): void {
    for (const client of this.#ending) {
      const isBusy = client.open > 0 || this.#isStalled(client);
      if (isBusy && !client.process.isDead) continue;
      this.#ending.delete(client);
      if (client.process.isDead) continue;
      this.#ended.add(client);
      const { late } = this.#connectionsOf(client);
      if (late > 0) this.#late.set(client, client.process.now + longestLateMs);
      this.#expectNoMore(client, late);
    }
    for (const [client, until] of this.#late) {
      const { process } = client;
      if ((process.now <= until || this.#isStalled(client)) && !process.isDead) continue;
      this.#late.delete(client);
      if (!process.isDead) this.#expectNoMore(client, 0);
    }
  }

  /** During a stall the clock of the process shows the end already, and none of its timers runs. */
  #isStalled({ process }: SimClient): boolean {
    return process.stalledUntil > 0 && process.stalledUntil + wakingMs >= this.#bench.now();
  }

  #expectNoMore(client: SimClient, most: number): void {
    const { open } = this.#connectionsOf(client);
    if (client.timers > most || open > most)
      this.#bench.tell('I9', `${client.name} is closed, and has ${client.timers} timers, ${open} connections`);
  }
}

/** The connections of a client that it has not ended. */
export interface Connections {
  readonly open: number;
  /** The connections among them that were given up before the server granted the session that they asked for. */
  readonly late: number;
}

const longestLateMs = 2_000;
