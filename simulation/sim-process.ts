import type { Chance } from '../src/support/chance.ts';
import type { Clock } from '../src/support/clock.ts';
import type { Surroundings } from '../src/client/surroundings.ts';
import { Random } from '../lab/random.ts';
import { cancel, phases, type Agenda, type Whose } from '../lab/virtual/agenda.ts';

/** A simulated process of Node.js: its clock and its chance. */
export class SimProcess implements Whose {
  readonly name: string;
  readonly surroundings: Omit<Surroundings, 'network'>;
  /** No code of this process runs before this time. */
  stalledUntil = 0;
  /** A dead process never runs again. */
  isDead = false;
  readonly #agenda: Agenda;
  readonly #options: ProcessOptions;

  constructor(name: string, agenda: Agenda, options: ProcessOptions) {
    this.name = name;
    this.#agenda = agenda;
    this.#options = options;
    const random = new Random(options.seed, 1);
    const chance: Chance = { random: () => random.next(), uuid: () => random.uuid() };
    this.surroundings = { clock: this.#clock(), chance };
  }

  /** Its own time, which goes at its own rate. */
  get now(): number {
    return this.#options.clockOffsetMs + this.#agenda.now * this.#options.clockRate;
  }

  get clock(): Clock {
    return this.surroundings.clock;
  }

  stall(forMs: number): void {
    this.stalledUntil = Math.max(this.stalledUntil, this.#agenda.now + forMs);
  }

  #clock(): Clock {
    const { clockRate } = this.#options;
    return {
      now: () => this.now,
      after: (delayMs, run) => {
        // As in Node, a timer takes at least a millisecond. The last term outweighs what a division rounds off.
        const entry = this.#agenda.add(
          this.#agenda.now + Math.max(1, delayMs) / clockRate + 1e-6,
          phases.timer,
          this,
          run,
        );
        return () => cancel(entry);
      },
      afterPoll: (run) => void this.#agenda.add(this.#agenda.now, phases.check, this, run),
      wall: () => Math.floor(wallAtStart + this.now),
    };
  }
}

export interface ProcessOptions {
  readonly seed: number;
  /** 1 for a perfect clock. The lock assumes that two clocks differ by less than a tenth. */
  readonly clockRate: number;
  readonly clockOffsetMs: number;
}

const wallAtStart = 1_700_000_000_000;
