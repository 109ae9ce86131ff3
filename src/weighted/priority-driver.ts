import { expectInteger, expectOptions } from '../support/validate.js';
import { mostOvertakes, weightedMark } from './weighted-name.js';

/** Options of {@link PriorityDriver}. */
export interface PriorityDriverOptions {
  /**
   * How many later waiters may be let in before one of this mutex's, for each step of weight between: a whole number from 1 to 99. With 10, one of weight 7 is
   * overtaken by at most 10 × (8 − 7) + 10 × (9 − 8) + 10 × (10 − 9) = 30. It stands in the znodes' names, so clients need not agree on it.
   * @default 10
   */
  readonly overtakesPerWeight?: number | undefined;
}

/**
 * Makes a mutex let the heavier ones in first: `acquire({ weight })`, a whole number from 1 to 10, by default 1. Within a weight it is first come, first served, and
 * whoever waits is overtaken by a bounded number of others, so that nobody waits for ever.
 *
 * The names alone cannot say who holds such a lock, so it keeps that in the data of its own znode, and is no lock of Curator's: give it a path of its own. It stands in one
 * queue with every client of this library that uses a PriorityDriver there. How it decides, and what that costs: docs/weights.md.
 *
 * @example
 * const mutex = new InterProcessMutex(client, '/locks/reports', { driver: new PriorityDriver() });
 * await mutex.withLock((hold) => printFor(customer, hold.fencingToken), { weight: customer.isWaiting ? 10 : 1 });
 */
export class PriorityDriver {
  /** What every name of such a lock contains. */
  readonly lockName = weightedMark;
  /** See {@link PriorityDriverOptions.overtakesPerWeight}. */
  readonly overtakesPerWeight: number;

  /**
   * @throws TypeError or RangeError for a bad option
   * @example
   * new PriorityDriver({ overtakesPerWeight: 3 });
   */
  constructor(options: PriorityDriverOptions = {}) {
    const { overtakesPerWeight = 10 } = expectOptions('PriorityDriver', options, ['overtakesPerWeight']);
    expectInteger('overtakesPerWeight', overtakesPerWeight, { min: 1, max: mostOvertakes });
    this.overtakesPerWeight = overtakesPerWeight;
  }
}
