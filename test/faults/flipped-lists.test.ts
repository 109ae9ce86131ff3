import { everyBit, numbersIn, testFlippedLists } from '../behaviour/field/flipped-lists.ts';

describe('FIELD D2: one flipped bit in a list of children', () => {
  // All bits in the last digits of the numbers, and one bit in each other byte.
  testFlippedLists('at any place', [0, 1], (at, list) =>
    numbersIn(list).some((index) => at >= index + 8 && at < index + 10) ? everyBit : [(at >> 2) % 8],
  );
});
