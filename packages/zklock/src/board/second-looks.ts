import type { CancelTimer, Clock } from '../../../../src/support/clock.js';
import { isZooKeeperError } from '../../../../src/zookeeper/wire/zookeeper-error.js';
import type { Unreadable } from './participant-znode.js';

/**
 * The looks at znodes of which no event may come. Servers send no event when the rights on a znode change, and none of a
 * znode that this client may not read (CVE-2024-23944). No event comes either when the reason of another refusal is gone.
 *
 * A znode that may not be read is due each second, and every other znode each minute. After another refusal, such as an
 * answer that is too long, the pauses grow from a second to a minute, because the question may be expensive. At most fifty
 * znodes of each kind are due in one second, so on a big board this takes longer.
 */
export class SecondLooks {
  readonly #clock: Clock;
  readonly #hidden: Round;
  readonly #refused: Round;
  #calls = 0;
  readonly #others: Round;
  #cancel: CancelTimer | undefined;

  constructor(clock: Clock, znodes: SecondLookZnodes) {
    const { unreadable } = znodes;
    this.#clock = clock;
    this.#hidden = new Round(function* () {
      for (const [path, { error }] of unreadable) if (isZooKeeperError(error, 'NO_AUTH')) yield path;
    }, 1);
    this.#refused = new Round(() => this.#dueOf(unreadable), 1);
    this.#others = new Round(function* () {
      for (const path of znodes.paths()) if (!unreadable.has(path)) yield path;
    }, 60);
  }

  start(look: (path: string) => void): void {
    this.stop();
    this.#cancel = this.#clock.after(pauseMs, () => {
      this.start(look);
      for (const path of [...this.#hidden.next(), ...this.#refused.next(), ...this.#others.next()]) look(path);
    });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Each look doubles the pause, also one that has no answer yet, so that slow answers do not pile up. */
  *#dueOf(unreadable: ReadonlyMap<string, Unreadable>): Generator<string> {
    this.#calls += 1;
    for (const [path, refused] of unreadable) {
      if (isZooKeeperError(refused.error, 'NO_AUTH')) continue;
      if (this.#calls % 2 ** Math.min(refused.looks, mostDoublings) !== 0) continue;
      refused.looks += 1;
      yield path;
    }
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

/** The longest pause is about a minute. */
const mostDoublings = 6;
