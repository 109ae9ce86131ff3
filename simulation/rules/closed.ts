import { nameOf, type Claim } from '../claim.ts';
import type { SimClient } from '../sim-client.ts';
import type { Bench } from './bench.ts';

/**
 * A client that was closed: its holds have ended when `close` resolves. When the jobs of these holds have ended too, it
 * has no timer and no connection left, and sends nothing any more (I9).
 */
export class Closed {
  readonly #bench: Bench;
  readonly #connectionsOf: (client: SimClient) => number;
  /** The clients whose `close` has resolved, and that still have calls. */
  readonly #ending = new Set<SimClient>();
  readonly #ended = new WeakSet<SimClient>();

  constructor(bench: Bench, connectionsOf: (client: SimClient) => number) {
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
      if (client.open > 0 && !client.process.isDead) continue;
      this.#ending.delete(client);
      if (client.process.isDead) continue;
      this.#ended.add(client);
      const connections = this.#connectionsOf(client);
      if (client.timers > 0 || connections > 0)
        this.#bench.tell('I9', `${client.name} is closed, and has ${client.timers} timers, ${connections} connections`);
    }
  }
}
