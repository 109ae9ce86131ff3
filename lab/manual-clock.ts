import type { Clock } from '../src/support/clock.ts';
import { Agenda, cancel, phases } from './virtual/agenda.ts';

/** A clock that moves only by its methods. */
export class ManualClock implements Clock {
  readonly #agenda = new Agenda();
  readonly #process = { stalledUntil: 0, isDead: false };
  /** The time that the timers of the system do not count. */
  #asleepMs: number;

  constructor(startMs = 1_000) {
    this.#asleepMs = startMs;
  }

  now(): number {
    return this.#asleepMs + this.#agenda.now;
  }

  after(delayMs: number, run: () => void): () => void {
    const entry = this.#agenda.add(this.#agenda.now + delayMs, phases.timer, this.#process, run);
    return () => cancel(entry);
  }

  afterPoll(run: () => void): void {
    run();
  }

  wall(): number {
    return this.now();
  }

  get timers(): number {
    return this.#agenda.countOf(this.#process);
  }

  /** Time passes while the event loop is blocked: no timer runs. */
  stall(ms: number): void {
    this.#process.stalledUntil = this.#agenda.now += ms;
  }

  /** The machine sleeps: time passes, and the timers of the system do not advance. */
  sleep(ms: number): void {
    this.#asleepMs += ms;
  }

  /** Runs the timers that become due, in their order. */
  advance(ms: number): void {
    const until = this.#agenda.now + ms;
    for (let next = this.#agenda.take(until); next; next = this.#agenda.take(until)) next.run();
    this.#agenda.now = until;
  }
}
