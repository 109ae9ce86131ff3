import { expectInteger, expectOptions } from '../support/validate.js';
import { mostOvertakes } from './weighted-name.js';

/** Options of a mutex with weights. */
export interface WeightsOptions {
  /**
   * How many later waiters may be granted before a waiter of this mutex, for each step of weight between them: a whole
   * number from 1 to 99. With 10, a waiter of weight 7 is overtaken at most 10 × (8 − 7) + 10 × (9 − 8) + 10 × (10 − 9)
   * = 30 times. The number is part of the znodes' names, so clients need not agree on it.
   * @default 10
   */
  readonly overtakesPerWeight?: number | undefined;
}

/** The options with their defaults. @throws TypeError or RangeError for a bad option */
export function checkedWeights(options: WeightsOptions): { readonly overtakesPerWeight: number } {
  const { overtakesPerWeight = 10 } = expectOptions('weights', options, ['overtakesPerWeight']);
  expectInteger('weights.overtakesPerWeight', overtakesPerWeight, { min: 1, max: mostOvertakes });
  return { overtakesPerWeight };
}
