import type { CancelTimer } from '../../src/support/clock.ts';
import type { EnsembleClock } from './settings.ts';

/**
 * One direction of the TCP connection between two members: first in, first out, and nothing is lost. Messages that a
 * cut delays arrive when the cut heals.
 */
export class Lane<Message> {
  readonly #options: LaneOptions;
  readonly #receive: (messages: readonly Message[]) => void;
  #messages: Message[] = [];
  #times: number[] = [];
  #newestAt = 0;
  #isCut = false;
  /** Added to the delay of each message that is sent from now on. */
  extraDelayMs = 0;
  #cancel: CancelTimer | undefined;

  constructor(options: LaneOptions, receive: (messages: readonly Message[]) => void) {
    this.#options = options;
    this.#receive = receive;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  set isCut(isCut: boolean) {
    this.#isCut = isCut;
    this.#arm();
  }

  send(message: Message): void {
    const { clock, delayMs } = this.#options;
    this.#newestAt = Math.max(this.#newestAt, clock.now() + delayMs() + this.extraDelayMs);
    this.#messages.push(message);
    this.#times.push(this.#newestAt);
    if (this.#cancel === undefined) this.#arm();
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const [first] = this.#times;
    if (this.#isCut || first === undefined) return;
    const { clock } = this.#options;
    this.#cancel = clock.after(Math.max(0, first - clock.now()), () => this.#deliver());
  }

  #deliver(): void {
    this.#cancel = undefined;
    const now = this.#options.clock.now();
    let count = 0;
    for (const time of this.#times) {
      if (time > now) break;
      count += 1;
    }
    this.#times.splice(0, count);
    const due = this.#messages.splice(0, count);
    this.#arm();
    if (due.length > 0) this.#receive(due);
  }
}

export interface LaneOptions {
  readonly clock: EnsembleClock;
  /** The delay of the next message in milliseconds. */
  readonly delayMs: () => number;
}
