import { expect } from 'chai';
import fc from 'fast-check';
import { nextByWeight } from '../../lab/judge/next-by-weight.ts';
import { decodeClaim, encodeClaim } from '../../src/weighted/claim.ts';
import { foreignNames, protectedPrefix, SEQUENCE_MAX, sequenceOf } from '../../src/driver/names.ts';
import { standardDriver } from '../../src/driver/standard-driver.ts';
import { weightedChild, weightedLockName, type WeightedChild } from '../../src/weighted/weighted-name.ts';
import { WeightedQueue } from '../../src/weighted/weighted-queue.ts';

const printed = (sequence: number): string =>
  sequence < 0 ? `-${String(-sequence).padStart(9, '0')}` : String(sequence).padStart(10, '0');

function child(uuid: string, weight: number, overtakesPerWeight: number, sequence: number): WeightedChild {
  return {
    name: `${protectedPrefix(uuid, weightedLockName(weight, overtakesPerWeight))}${printed(sequence)}`,
    weight,
    overtakesPerWeight,
    sequence,
  };
}

const weights = fc.integer({ min: 1, max: 10 });
const overtakes = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 99 }));
const sequences = fc.oneof(fc.nat(50), fc.nat(SEQUENCE_MAX));
const queues = fc
  .uniqueArray(fc.tuple(fc.uuid(), weights, overtakes, fc.nat(60)), {
    minLength: 1,
    maxLength: 25,
    selector: ([, , , sequence]) => sequence,
  })
  .chain((raw) => {
    const children = raw.map((parts) => child(...parts));
    return fc.record({
      children: fc.constant(children),
      shuffled: fc.shuffledSubarray(children, { minLength: children.length }),
      holder: fc.option(fc.constantFrom(...children), { nil: undefined }),
      overtakers: fc.array(fc.nat(60), { maxLength: 40 }).map((numbers) => numbers.sort((a, b) => a - b)),
    });
  });
type Queue = typeof queues extends fc.Arbitrary<infer T> ? T : never;

const claimOf = ({ holder, overtakers }: Queue) => ({
  holder: holder?.name ?? child('00000000-0000-4000-8000-000000000000', 1, 1, 61).name,
  overtakers,
});

function orderByRule({ children, holder, overtakers }: Queue): string[] {
  const order = holder ? [holder.name] : [];
  let waiters = children.filter((one) => one !== holder);
  const all = [...overtakers];
  for (let next = nextByWeight(waiters, all); next; next = nextByWeight(waiters, all)) {
    const served = next;
    order.push(served.name);
    all.push(served.sequence);
    waiters = waiters.filter((one) => one !== served);
  }
  return order;
}

describe('the names of a weighted lock', () => {
  it('contain weight, overtakes and sequence', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        weights,
        overtakes,
        fc.oneof(sequences, fc.integer({ min: -(2 ** 31), max: -1 })),
        (uuid, weight, overtakesPerWeight, sequence) => {
          const made = child(uuid, weight, overtakesPerWeight, sequence);
          expect(weightedChild(made.name)).to.deep.equal(made);
          expect(sequenceOf(made.name, weightedLockName(weight, overtakesPerWeight))).to.equal(sequence);
        },
      ),
    );
  });

  it("are foreign to a plain mutex, and a plain mutex's names are foreign to them", () => {
    fc.assert(
      fc.property(fc.uuid(), weights, overtakes, sequences, (uuid, weight, overtakesPerWeight, sequence) => {
        const { name } = child(uuid, weight, overtakesPerWeight, sequence);
        expect(foreignNames([name], 'lock-')).to.deep.equal([name]);
        for (const plain of [`${protectedPrefix(uuid, 'lock-')}${printed(sequence)}`, `lock-${printed(sequence)}`])
          expect(weightedChild(plain)).to.equal(undefined);
      }),
    );
  });

  it('sort before every plain name, so that a Java client waits for them', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        weights,
        overtakes,
        sequences,
        sequences,
        (uuid, weight, overtakesPerWeight, sequence, plainSequence) => {
          const { name } = child(uuid, weight, overtakesPerWeight, sequence);
          const plain = `${protectedPrefix(uuid, 'lock-')}${printed(plainSequence)}`;
          expect(standardDriver.sort([plain, name])).to.deep.equal([name, plain]);
        },
      ),
    );
  });

  it('are not used by any other lock', () => {
    const uuid = '6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a';
    for (const name of [
      `_c_${uuid}-lock-+00x10-0000000001`,
      `_c_${uuid}-lock-+11x10-0000000001`,
      `_c_${uuid}-lock-+07x00-0000000001`,
      `_c_${uuid}-lock-+7x10-0000000001`,
      `_c_${uuid}-lock-+07x10-1`,
      `_c_${uuid}-lock-+07x10-`,
      `_c_${uuid}-x-lock-+07x10-0000000001`,
      `_c_${uuid}-lock-+07x10-lock-+07x10-0000000001`,
      `_c_not-a-uuid-lock-+07x10-0000000001`,
      'lock-+07x10-0000000001',
      '',
    ])
      expect(weightedChild(name), name).to.equal(undefined);
  });
});

describe('a claim', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        weights,
        overtakes,
        sequences,
        fc.array(fc.nat(SEQUENCE_MAX)),
        (uuid, weight, overtakesPerWeight, sequence, numbers) => {
          const claim = {
            holder: child(uuid, weight, overtakesPerWeight, sequence).name,
            overtakers: numbers.sort((a, b) => a - b),
          };
          expect(decodeClaim(encodeClaim(claim))).to.deep.equal(claim);
        },
      ),
    );
  });

  it('is not read from any other data, and an empty znode has none', () => {
    expect(decodeClaim(new Uint8Array(0))).to.equal('none');
    for (const text of [
      '127.0.0.1',
      '{}',
      'null',
      '[]',
      '7',
      '{"holder":"lock-0000000001","overtakers":[]}',
      '{"holder":7,"overtakers":[]}',
      '{',
    ])
      expect(decodeClaim(Buffer.from(text)), text).to.equal('foreign');
    const { name: holder } = child('6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a', 1, 1, 1);
    for (const overtakers of [undefined, {}, ['1'], [1.5], [null]])
      expect(decodeClaim(Buffer.from(JSON.stringify({ holder, overtakers })))).to.equal('foreign');
    fc.assert(fc.property(fc.uint8Array({ minLength: 1 }), (data) => decodeClaim(data) === 'foreign'));
  });
});

describe('the queue of a weighted lock, with any waiters', () => {
  it('grants the next waiter by the rule, and only if there is no holder', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const seen = new WeightedQueue(queue.shuffled, claimOf(queue));
        const next = nextByWeight(
          queue.children.filter((one) => one !== queue.holder),
          queue.overtakers,
        );
        const standings = queue.children.map(({ name }) => ({ name, is: seen.standingOf(name).is }));
        expect(standings.filter(({ is }) => is === 'holder').map(({ name }) => name)).to.deep.equal(
          queue.holder ? [queue.holder.name] : [],
        );
        expect(standings.filter(({ is }) => is === 'next').map(({ name }) => name)).to.deep.equal(
          queue.holder || !next ? [] : [next.name],
        );
      }),
    );
  });

  it('has an order: the one in which the rule grants all of them, one after another', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const { order } = new WeightedQueue(queue.shuffled, claimOf(queue));
        expect([...order.keys()]).to.deep.equal(orderByRule(queue));
        expect([...order.values()]).to.deep.equal(queue.children.map((_, index) => index));
      }),
    );
  });

  it('never grants a waiter before an earlier one that is as heavy or heavier', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const next = nextByWeight(queue.children, queue.overtakers);
        expect(next).to.not.equal(undefined);
        for (const one of queue.children)
          if (next && one.sequence < next.sequence) expect(one.weight).to.be.lessThan(next.weight);
      }),
    );
  });

  it('makes each waiter watch an existing znode that keeps it from being next as long as no other client claims the lock, whichever other znodes are deleted', () => {
    fc.assert(
      fc.property(queues, fc.infiniteStream(fc.nat()), (queue, numbers) => {
        const { children, holder } = queue;
        const seen = new WeightedQueue(children, claimOf(queue));
        for (const { name } of children) {
          const standing = seen.standingOf(name);
          if (standing.is !== 'waiting') continue;
          expect(standing.watch).to.not.equal(name);
          expect(children.map((one) => one.name)).to.include(standing.watch);
          // Any of the other waiters may leave, and newcomers may arrive.
          const left = children.filter(
            (one) => one.name === name || one.name === standing.watch || (numbers.next().value ?? 0) % 2 === 0,
          );
          const later = [child('00000000-0000-4000-8000-000000000001', ((numbers.next().value ?? 0) % 10) + 1, 1, 100)];
          const isFree = standing.watch !== holder?.name;
          const then = new WeightedQueue(
            [...left.filter((one) => !isFree || one !== holder), ...later],
            claimOf(queue),
          );
          expect(then.standingOf(name).is).to.equal('waiting');
        }
      }),
    );
  });

  it('makes a waiter that is not the first of its weight watch its predecessor of the same weight, and nothing else', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const seen = new WeightedQueue(queue.shuffled, claimOf(queue));
        const waiters = queue.children.filter((one) => one !== queue.holder).sort((a, b) => a.sequence - b.sequence);
        for (const one of waiters) {
          const before = waiters.findLast(({ weight, sequence }) => weight === one.weight && sequence < one.sequence);
          if (before)
            expect(seen.standingOf(one.name)).to.deep.equal({ is: 'waiting', watch: before.name, watchesClaim: false });
        }
      }),
    );
  });

  it('keeps of all overtakers only those that overtook a waiter that still waits', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const { children, holder, overtakers } = queue;
        const seen = new WeightedQueue(children, claimOf(queue));
        const next = nextByWeight(
          children.filter((one) => one !== holder),
          overtakers,
        );
        if (next === undefined) return;
        const claim = seen.claimOf(next.name);
        expect(claim.holder).to.equal(next.name);
        const after = (sequence: number, numbers: readonly number[]): number[] =>
          numbers.filter((one) => one > sequence).sort((a, b) => a - b);
        const waiters = children.filter((one) => one !== holder && one !== next);
        for (const { sequence } of waiters)
          expect(after(sequence, claim.overtakers)).to.deep.equal(after(sequence, [...overtakers, next.sequence]));
        const earliest = Math.min(...waiters.map(({ sequence }) => sequence));
        expect(claim.overtakers.filter((sequence) => sequence <= earliest)).to.deep.equal([]);
      }),
    );
  });
});
