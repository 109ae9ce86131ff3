import { expect } from 'chai';
import fc from 'fast-check';
import { figuresOf } from '../../../chaos/checks/figures.ts';
import { weights } from '../../../lab/judge/weights.ts';
import { calm, type Script } from './support/script.ts';

interface Waiter {
  readonly id: string;
  readonly weight: number;
  readonly overtakesPerWeight: number;
  readonly sequence: number;
}

function waiter(sequence: number, weight: number, overtakesPerWeight = 10): Waiter {
  return { id: `w${sequence}`, weight, overtakesPerWeight, sequence };
}

function znodeOf({ weight, overtakesPerWeight, sequence }: Waiter): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `/a/_c_0b7e49a2-4e0c-4f0e-8d9b-0123456789ab-lock-+${two(weight)}x${two(overtakesPerWeight)}-${String(sequence).padStart(10, '0')}`;
}

/**
 * All waiters call in the order of their znodes before the first grant. `waiters` is ordered by grant, and so by token.
 */
function served(waiters: readonly Waiter[], tokenOf = (place: number): number => 1_000 + place): Script {
  return waiters.reduce((script, one, place) => {
    const granted = 2_000 + 10 * place;
    return script.hold('c1', one.id, {
      weight: one.weight,
      znode: znodeOf(one),
      call: 1_000 + one.sequence / 1_000,
      granted,
      until: granted + 5,
      token: tokenOf(place),
    });
  }, calm());
}

/**
 * The heaviest first; equal weights in order of arrival. A waiter may pass only lighter waiters that were overtaken
 * less often than their names allow.
 */
function byTheRule(waiters: readonly Waiter[]): Waiter[] {
  const order: Waiter[] = [];
  const left = new Set(waiters);
  const timesOf = (one: Waiter): number => order.filter(({ sequence }) => sequence > one.sequence).length;
  const mayPass = (one: Waiter): boolean =>
    [...left].every(
      (other) =>
        other.sequence >= one.sequence ||
        other.weight >= one.weight ||
        timesOf(other) < other.overtakesPerWeight * (one.weight - other.weight),
    );
  while (left.size > 0) {
    const next = [...left].sort((a, b) => b.weight - a.weight || a.sequence - b.sequence).find(mayPass);
    if (next === undefined) throw new Error('no waiter is next');
    left.delete(next);
    order.push(next);
  }
  return order;
}

const queues = fc.array(
  fc.record({ weight: fc.integer({ min: 1, max: 10 }), overtakesPerWeight: fc.constantFrom(1, 2, 10) }),
  { minLength: 1, maxLength: 40 },
);
const numbered = queues.map((all) =>
  all.map(({ weight, overtakesPerWeight }, sequence) => waiter(sequence, weight, overtakesPerWeight)),
);

describe('waiters with weights in a history', () => {
  it('are granted heavier first', () => {
    const script = served([waiter(2, 9), waiter(1, 3)]);
    expect(script.findings).to.deep.equal([]);
    expect(figuresOf(script.history)).to.deep.include({ overtakes: 1, mostOvertakes: 1, pairsInOrder: 0 });
  });

  it('must not be overtaken by a waiter that is lighter, or as heavy', () => {
    expect(served([waiter(2, 3), waiter(1, 9)]).findings).to.deep.equal(['weights']);
    expect(served([waiter(2, 9), waiter(1, 9)]).findings).to.deep.equal(['weights']);
  });

  it('must not be overtaken more often than their limit for the difference', () => {
    const overtakenBy = (count: number, weight: number, overtakesPerWeight: number): string[] =>
      served([
        ...Array.from({ length: count }, (_, index) => waiter(2 + index, weight)),
        waiter(1, 5, overtakesPerWeight),
      ]).findings;
    expect(overtakenBy(10, 6, 10)).to.deep.equal([]);
    expect(overtakenBy(11, 6, 10)).to.deep.equal(['weights']);
    expect(overtakenBy(20, 7, 10)).to.deep.equal([]);
    expect(overtakenBy(21, 7, 10)).to.deep.equal(['weights']);
    expect(overtakenBy(3, 8, 1)).to.deep.equal([]);
    expect(overtakenBy(4, 8, 1)).to.deep.equal(['weights']);
    expect(
      figuresOf(served([waiter(2, 6, 1), waiter(3, 8, 1), waiter(4, 8, 1), waiter(1, 5, 1)]).history),
    ).to.deep.include({ overtakes: 3, lastOvertakes: 2, mostOvertakes: 3 });
  });

  it('are also held back by the overtakes of others', () => {
    expect(served([waiter(2, 7, 1), waiter(3, 6, 1), waiter(1, 5, 1)]).findings).to.deep.equal(['weights']);
    expect(served([waiter(2, 6, 1), waiter(3, 7, 1), waiter(1, 5, 1)]).findings).to.deep.equal([]);
  });

  it('are not overtaken by waiters that came before them, or that had finished before they came', () => {
    const script = served([waiter(1, 1), waiter(3, 9, 1), waiter(2, 8, 1), waiter(4, 1)]);
    expect(script.findings).to.deep.equal([]);
    expect(figuresOf(script.history)).to.deep.include({ overtakes: 1, mostOvertakes: 1 });
  });

  it('are overtaken in the order of the tokens, even if their code learned of the grant late', () => {
    const script = served([waiter(1, 9), waiter(2, 3)], (place) => 1_001 - place);
    expect(weights(script.history).map(({ ids }) => ids)).to.deep.equal([['w1', 'w2']]);
  });

  it('have the weight that the call asked for', () => {
    const asked = (znode: string, weight: { weight?: number } = { weight: 7 }): string[] =>
      calm().hold('c1', 'x', { ...weight, znode, call: 1_000, granted: 1_001, until: 1_002, token: 10 }).findings;
    expect(asked(znodeOf(waiter(1, 7)))).to.deep.equal([]);
    expect(asked(znodeOf(waiter(1, 8)))).to.deep.equal(['weights']);
    expect(asked('/a/lock-0000000001')).to.deep.equal(['weights']);
    expect(asked(znodeOf(waiter(1, 7)), {})).to.deep.equal(['weights']);
  });

  it('count once for a znode that is re-entered, even with another weight', () => {
    const again = {
      weight: 2,
      znode: znodeOf(waiter(2, 9, 1)),
      flow: 'w2',
      call: 2_001,
      granted: 2_002,
      until: 2_003,
      token: 1_000,
    };
    const script = served([waiter(2, 9, 1), waiter(1, 8, 1)]).hold('c1', 'again', again);
    expect(script.findings).to.deep.equal([]);
    expect(figuresOf(script.history)).to.deep.include({ overtakes: 1 });
  });

  it('of two paths are not compared', () => {
    const elsewhere = znodeOf(waiter(2, 3)).replace('/a/', '/b/');
    const script = served([waiter(1, 9)]).hold('c2', 'x', {
      path: '/b',
      weight: 3,
      znode: elsewhere,
      call: 1_001,
      granted: 1_900,
      until: 1_901,
      token: 999,
    });
    expect(script.findings).to.deep.equal([]);
  });

  it('must not have tokens in order of arrival, because the register then refuses the older waiter', () => {
    expect(served([waiter(2, 9), waiter(1, 3)], (place) => 1_001 - place).findings).to.deep.equal([
      'register',
      'tokens',
    ]);
  });

  it('must not hold the lock together', () => {
    const script = served([waiter(2, 9)]).hold('c2', 'w1', {
      weight: 3,
      znode: znodeOf(waiter(1, 3)),
      call: 1_000,
      granted: 2_004,
      until: 2_020,
      token: 1_001,
    });
    expect(script.findings).to.deep.equal(['overlaps']);
  });

  it('have no violation if the rule was followed', () => {
    fc.assert(
      fc.property(numbered, (waiters) => {
        expect(weights(served(byTheRule(waiters)).history)).to.deep.equal([]);
      }),
      { numRuns: 300 },
    );
  });

  it('have a violation if a waiter that is no heavier was granted too early', () => {
    fc.assert(
      fc.property(numbered, fc.nat(), fc.nat(), (waiters, a, b) => {
        const order = byTheRule(waiters);
        const [first, second] = [order[a % order.length], order[b % order.length]];
        fc.pre(
          first !== undefined &&
            second !== undefined &&
            order.indexOf(first) < order.indexOf(second) &&
            first.sequence < second.sequence &&
            first.weight >= second.weight,
        );
        order.splice(order.indexOf(second), 1);
        order.splice(order.indexOf(first), 0, second);
        expect(weights(served(order).history)).to.not.deep.equal([]);
      }),
    );
  });
});
