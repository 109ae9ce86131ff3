import { expect } from 'chai';
import fc from 'fast-check';
import { isRightBehind } from '../../src/internals/znode/newest.ts';

type Step = 'ours' | 'theirs' | 'ours elsewhere' | 'elsewhere' | 'parent' | 'parent by us' | 'leader';

interface Node {
  readonly sequence: number;
  readonly czxid: bigint;
  /** The number of writes of our session so far. */
  readonly writes: number;
  readonly isOurs: boolean;
  /** The number of the parent, and the index among its children. The servers know them, but no client gets them. */
  readonly parent: number;
  readonly place: number;
}

/**
 * The effects of one ensemble on one path: the children get consecutive numbers, which start at zero again with each
 * new parent.
 */
function history(steps: readonly Step[]): Node[] {
  const created: Node[] = [];
  let zxid = 0x100000000n;
  let parent = 0;
  let next = 0;
  let writes = 0;
  for (const step of steps) {
    zxid += 1n;
    if (step === 'ours' || step === 'theirs') {
      if (step === 'ours') writes += 1;
      created.push({ sequence: next, czxid: zxid, writes, isOurs: step === 'ours', parent, place: next });
      next += 1;
    } else if (step === 'ours elsewhere') {
      writes += 1;
    } else if (step === 'parent' || step === 'parent by us') {
      // Another client deletes the parent. If our session needs it again, our session creates it.
      if (step === 'parent by us') {
        zxid += 1n;
        writes += 1;
      }
      // All in one transaction: the children and the parent are deleted, and the parent is created again.
      parent += 1;
      next = 0;
    } else if (step === 'leader') {
      zxid = ((zxid >> 32n) + 1n) << 32n;
    }
  }
  return created;
}

const steps = fc.array(
  fc.constantFrom<Step[]>(
    'ours',
    'ours',
    'ours',
    'theirs',
    'ours elsewhere',
    'elsewhere',
    'parent',
    'parent by us',
    'leader',
  ),
  { maxLength: 60 },
);

describe('isRightBehind', () => {
  it('is true only for children of one parent with no other child between them', () => {
    let times = 0;
    fc.assert(
      fc.property(steps, (all) => {
        const ours = history(all).filter(({ isOurs }) => isOurs);
        for (const [index, after] of ours.entries()) {
          const before = ours[index - 1];
          if (before === undefined || !isRightBehind(after, before)) continue;
          times += 1;
          expect(after.parent).to.equal(before.parent);
          expect(after.place).to.equal(before.place + 1);
        }
      }),
      { numRuns: 20_000 },
    );
    expect(times).to.be.greaterThan(10_000);
  });

  it('is true for a session that acquires again, after any number of own writes, if other sessions have written at most as often as the lock was acquired', () => {
    const many = fc.integer({ min: 0, max: 2 ** 31 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 - 2 }), many, many, (sequence, others, own) => {
        const before = { sequence: sequence - 1, czxid: 0x500000000n, writes: 7 };
        const after = {
          sequence,
          czxid: before.czxid + BigInt(own + 2) + BigInt(others),
          writes: before.writes + own + 2,
        };
        expect(isRightBehind(after, before)).to.equal(others <= sequence);
      }),
    );
  });
});
