import { sleeplessTime } from '../../src/support/clock.ts';

interface MachineOptions {
  /** The resolution of the uptime. */
  readonly granularityMs?: 10 | 1_000;
  readonly uptimeMs?: number;
  /** The time that each read of a clock takes. */
  readonly readMs?: () => number;
}

/** A machine whose three clocks have different start values, and whose reads of the uptime are counted. */
export class Machine {
  #monotonic = 5_000;
  #wall = 1_700_000_000_000;
  #uptime: number;
  readonly #readMs: () => number;
  #waitsMs = 0;
  looks = 0;
  readonly now: () => number;

  constructor({ granularityMs = 10, uptimeMs = 900_120, readMs = () => 0 }: MachineOptions = {}) {
    this.#uptime = uptimeMs;
    this.#readMs = readMs;
    this.now = sleeplessTime({
      monotonic: () => this.#read(() => this.#monotonic),
      wall: () => this.#read(() => Math.floor(this.#wall)),
      uptime: () => {
        this.looks += 1;
        const shown = this.#read(() => Math.floor(this.#uptime / granularityMs) * granularityMs);
        this.works(this.#waitsMs);
        this.#waitsMs = 0;
        return shown;
      },
    });
  }

  /** The time without errors; only its start value is arbitrary. */
  get trueTime(): number {
    return this.#uptime;
  }

  works(ms: number): void {
    this.#monotonic += ms;
    this.sleeps(ms);
  }

  sleeps(ms: number): void {
    this.#wall += ms;
    this.#uptime += ms;
  }

  setsItsClock(byMs: number): void {
    this.#wall += byMs;
  }

  /** Other processes use the processor for this time, directly after the next read of the uptime. */
  isKeptWaiting(ms: number): void {
    this.#waitsMs = ms;
  }

  #read(clock: () => number): number {
    const value = clock();
    this.works(this.#readMs());
    return value;
  }
}
