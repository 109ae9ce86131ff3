import type { CancelTimer, Clock } from '../../../../src/support/clock.js';
import { isZooKeeperError } from '../../../../src/zookeeper/zookeeper-error.js';
import type { Unreadable } from './participant-znode.js';

/**
 * The looks at znodes of which no event may come. Servers send no event when the rights on a znode change, and none of a
 * znode that this client may not read (CVE-2024-23944).
 *
 * A znode that may not be read is due each second, and every other znode each minute. At most fifty znodes of each kind
 * are due in one second, so on a big board this takes longer.
 */
export class SecondLooks {
  readonly #clock: Clock;
  readonly #hidden: Round;
  readonly #others: Round;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, znodes: SecondLookZnodes) {
    const { unreadable } = znodes;
    this.#clock = clock;
    this.#hidden = new Round(function* () {
      // Other refusals, such as an answer that is too long, cost much and stay.
      for (const [path, { error }] of unreadable) if (isZooKeeperError(error, 'NO_AUTH')) yield path;
    }, 1);
    this.#others = new Round(function* () {
      for (const path of znodes.paths()) if (!unreadable.has(path)) yield path;
    }, 60);
  }

  start(look: (path: string) => void): void {
    this.stop();
    this.#cancel = this.#clock.after(pauseMs, () => {
      this.start(look);
      for (const path of [...this.#hidden.next(), ...this.#others.next()]) look(path);
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }
}

/** The znodes to look at, as they are at the time of each call. */
export interface SecondLookZnodes {
  readonly unreadable: ReadonlyMap<string, Unreadable>;
  paths(): Iterable<string>;
}

/** Goes through some znodes again and again, a part of them at each call. */
class Round {
  readonly #all: () => Iterable<string>;
  readonly #calls: number;
  #left: string[] = [];
  #atOnce = 0;

  /** @param calls the number of calls in which each znode comes once, if that is not too many for a call */
  constructor(all: () => Iterable<string>, calls: number) {
    this.#all = all;
    this.#calls = calls;
  }

  next(): string[] {
    if (this.#left.length === 0) {
      this.#left = [...this.#all()];
      this.#atOnce = Math.min(mostAtOnce, Math.ceil(this.#left.length / this.#calls));
    }
    return this.#left.splice(-this.#atOnce, this.#atOnce);
  }
}

const pauseMs = 1_000;

const mostAtOnce = 50;
