import type { Agenda, Whose } from './agenda.ts';

/**
 * A process on virtual time, with a clock of its own. While it is stalled none of its code runs, and its clock shows the
 * end of the stall.
 */
export class VirtualProcess implements Whose {
  readonly name: string;
  stalledUntil = 0;
  /** It is so busy that it reads its sockets only at multiples of this, in milliseconds: in one chunk what came meanwhile. */
  turnMs = 0;
  isDead = false;
  readonly #agenda: Agenda;
  readonly #rate: number;
  readonly #offsetMs: number;

  constructor(name: string, agenda: Agenda, { rate = 1, offsetMs = 0 }: Skew = {}) {
    this.name = name;
    this.#agenda = agenda;
    this.#rate = rate;
    this.#offsetMs = offsetMs;
  }

  /** The virtual time at which its code runs: code that runs on behind a stall runs at the end of the stall. */
  get at(): number {
    return Math.max(this.#agenda.now, this.stalledUntil);
  }

  /** The time that this process sees. */
  get now(): number {
    return this.shownAt(this.at);
  }

  /** The time that its clock shows at a virtual time. */
  shownAt(at: number): number {
    return this.#offsetMs + at * this.#rate;
  }

  /** The virtual time at which as much of its own time has passed. */
  after(delayMs: number): number {
    // The last term outweighs the rounding of the division: no timer may fire early.
    return this.at + (this.#rate === 1 ? delayMs : delayMs / this.#rate + 1e-6);
  }

  /** When it reads what arrives at this virtual time. */
  readsAt(at: number): number {
    return this.turnMs === 0 ? at : Math.ceil(at / this.turnMs) * this.turnMs;
  }

  /** As if the process did not run from now on: its events happen later, in their order. */
  stall(forMs: number): void {
    this.stalledUntil = this.at + forMs;
  }
}

/** How a clock differs from virtual time. */
export interface Skew {
  readonly rate?: number;
  readonly offsetMs?: number;
}
