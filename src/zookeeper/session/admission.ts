import type { Clock } from '../../support/clock.js';
import type { Deadline, Waiter } from '../../support/deadline.js';
import { reached } from '../../support/reached.js';

/**
 * The acquires that wait to begin because their session's connection has more requests than its window. They wait in
 * call order, and cost a small object each. The requests of those that have begun go first, so that thousands of
 * acquires in one tick are granted one after another, and not all at the end.
 */
export class Admission {
  readonly #room: () => number;
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiter<undefined>>();
  #isDue = false;

  /** @param room the number of requests that may be sent now */
  constructor(room: () => number, clock: Clock) {
    this.#room = room;
    this.#clock = clock;
  }

  /** Returns undefined if the caller may begin now, in this tick. */
  enter(deadline: Deadline): Promise<void> | undefined {
    if (this.#waiting.size === 0 && this.#room() > 0) return undefined;
    return deadline.waitAs<undefined>((waiter) => {
      this.#waiting.add(waiter);
      return { waitNoMore: () => this.#waiting.delete(waiter) };
    });
  }

  /** The connection has room again, or is a new one. */
  admitSome(): void {
    let room = this.#waiting.size === 0 ? 0 : Math.ceil(this.#room() / requestsOfOne);
    if (room <= 0) return;
    for (const waiter of this.#waiting) {
      if (room-- <= 0) break;
      waiter.wake(undefined);
    }
    this.#lookAgain();
  }

  /** The session has ended: the acquires start over in the next one. */
  admitAll(): void {
    if (this.#waiting.size > 0) reached('a session ended with acquires that wait for room');
    for (const waiter of [...this.#waiting]) waiter.wake(undefined);
  }

  /** An acquire that was admitted may have given up meanwhile. Then no answer to it makes room for the next one. */
  #lookAgain(): void {
    if (this.#isDue || this.#waiting.size === 0) return;
    this.#isDue = true;
    this.#clock.afterPoll(() => {
      this.#isDue = false;
      this.admitSome();
    });
  }
}

/** An acquire begins with a create and a list. */
const requestsOfOne = 2;
