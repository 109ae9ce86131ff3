import type { Agenda, Due } from './agenda.ts';
import type { Random } from '../../lab/random.ts';

/**
 * One direction of a TCP connection: first in, first out, and nothing is lost. Data that a cut delays arrives when the
 * cut heals.
 */
export class Lane<Message> {
  /** The mean delay. One message in thirty takes up to twenty times as long. */
  delayMs: number;
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #due: Due;
  readonly #messages: Message[] = [];
  readonly #times: number[] = [];
  #newestAt = 0;
  #heldUntil = 0;

  constructor(agenda: Agenda, random: Random, delayMs: number, receive: (message: Message) => void) {
    this.#agenda = agenda;
    this.#random = random;
    this.delayMs = delayMs;
    this.#due = agenda.add(() => {
      const message = this.#messages.shift();
      this.#times.shift();
      this.#arm();
      if (message !== undefined) receive(message);
    });
  }

  get isHeld(): boolean {
    return this.#heldUntil > this.#agenda.now;
  }

  send(message: Message): void {
    const slow = this.#random.chance(1 / 30) ? this.#random.between(1, 20) : 1;
    this.#newestAt = Math.max(this.#newestAt, this.#agenda.now + this.delayMs * slow * this.#random.between(0.5, 1.5));
    this.#messages.push(message);
    this.#times.push(this.#newestAt);
    if (this.#times.length === 1) this.#arm();
  }

  /** A cut, or a stopped receiver: nothing arrives before `until`, including messages under way. */
  hold(until: number): void {
    this.#heldUntil = Math.max(this.#heldUntil, until);
    this.#arm();
  }

  #arm(): void {
    this.#due.at = Math.max(this.#times[0] ?? Infinity, this.#heldUntil);
  }
}
