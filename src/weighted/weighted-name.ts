import { SEQUENCE_MAX, sequenceOf, uuidOf } from '../driver/names.js';

/** Weights are whole numbers from here … */
export const lightest = 1;
/** … up to here. */
export const heaviest = 10;
/** The most overtakes for each step of weight that a name has room for. */
export const mostOvertakes = 99;

/** A child of a weighted lock, decoded from its name. */
export interface WeightedChild {
  readonly name: string;
  /** 1 to 10; the heavier child is first. */
  readonly weight: number;
  /** How many later waiters may overtake this one, for each step of weight between them. */
  readonly overtakesPerWeight: number;
  /** The place in the order in which the server created the znodes. */
  readonly sequence: number;
}

/** The part that all names of weighted locks contain, and no other lock's names. */
export const weightedMark = 'lock-+';

/**
 * Returns the part of the name before the sequence number, for one weight. Curator's rule finds its own `lock-` in the
 * name and sorts by the text after it; `+` sorts before every digit. So a Java client on the same path, which looks at
 * nothing else, waits for all znodes of a weighted lock and does not enter while one of them is held.
 *
 * @example
 * weightedLockName(7, 10); // 'lock-+07x10-'
 */
export function weightedLockName(weight: number, overtakesPerWeight: number): string {
  return `${weightedMark}${twoDigits(weight)}x${twoDigits(overtakesPerWeight)}-`;
}

/**
 * Decodes a name; undefined for a name that no weighted lock wrote.
 *
 * @example
 * weightedChild('_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-lock-+07x10-0000000004');
 * // { weight: 7, overtakesPerWeight: 10, sequence: 4, name: … }
 */
export function weightedChild(name: string): WeightedChild | undefined {
  const [, weightText, overtakesText] = weightedName.exec(name) ?? [];
  const [weight, overtakesPerWeight] = [Number(weightText), Number(overtakesText)];
  if (uuidOf(name) === undefined || !(weight >= lightest && weight <= heaviest && overtakesPerWeight >= 1))
    return undefined;
  const sequence = sequenceOf(name, weightedLockName(weight, overtakesPerWeight));
  return sequence === undefined ? undefined : { name, weight, overtakesPerWeight, sequence };
}

/** Returns a child that would be created now, behind all others. */
export function newcomer(weight: number, overtakesPerWeight: number): WeightedChild {
  return { name: '', weight, overtakesPerWeight, sequence: SEQUENCE_MAX };
}

const weightedName = /^_c_[\da-f-]+-lock-\+(\d\d)x(\d\d)-[\d-]+$/i;

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
