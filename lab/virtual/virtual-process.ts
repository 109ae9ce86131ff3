import type { Agenda, Whose } from './agenda.ts';

/** A process on virtual time. While it is stalled none of its code runs, and its clock shows the end of the stall. */
export class VirtualProcess implements Whose {
  readonly name: string;
  stalledUntil = 0;
  isDead = false;
  readonly #agenda: Agenda;

  constructor(name: string, agenda: Agenda) {
    this.name = name;
    this.#agenda = agenda;
  }

  /** The time that this process sees: code that runs on behind a stall runs at the end of the stall. */
  get now(): number {
    return Math.max(this.#agenda.now, this.stalledUntil);
  }

  /** As if the process did not run from now on: its events happen later, in their order. */
  stall(forMs: number): void {
    this.stalledUntil = this.now + forMs;
  }
}
