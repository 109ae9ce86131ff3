import { expect } from 'chai';
import fc from 'fast-check';
import { SEQUENCE_MAX, foreignNames, protectedPrefix, sequenceOf, uuidOf } from '../../src/driver/names.js';
import { standardDriver } from '../../src/driver/standard-driver.js';

const printed = (sequence: number) => String(sequence).padStart(10, '0');
const withoutDashes = (uuid: string) => uuid.replaceAll('-', '');

const sequences = fc.uniqueArray(
  fc.oneof(fc.nat(SEQUENCE_MAX), fc.nat(20), fc.integer({ min: SEQUENCE_MAX - 20, max: SEQUENCE_MAX })),
  {
    minLength: 1,
    maxLength: 60,
  },
);

const heads = fc.oneof(
  fc.constant('lock-'),
  fc.uuid().map((uuid) => protectedPrefix(uuid, 'lock-')),
  fc.uuid().map((uuid) => protectedPrefix(withoutDashes(uuid), 'lock-')),
  fc.uuid().map((uuid) => `${uuid}-lock-`),
);

const nativeNames = sequences.chain((numbers) =>
  fc.tuple(...numbers.map((number) => heads.map((head) => head + printed(number)))),
);

const foreign = fc.oneof(
  fc.tuple(fc.uuid(), fc.nat(SEQUENCE_MAX)).map(([uuid, n]) => `${protectedPrefix(uuid, '__WRIT__')}${printed(n)}`),
  fc.tuple(fc.uuid(), fc.nat(SEQUENCE_MAX)).map(([uuid, n]) => `${protectedPrefix(uuid, 'lease-')}${printed(n)}`),
  fc.tuple(fc.uuid(), fc.nat(SEQUENCE_MAX)).map(([uuid, n]) => `${withoutDashes(uuid)}__lock__${printed(n)}`),
  fc.stringMatching(/^[a-z]{1,12}$/),
);

/** A list as the server might return it, and the same list in another order. */
function shuffledTwice<T>(lists: fc.Arbitrary<T[]>) {
  return lists.chain((list) => {
    const shuffled = fc.shuffledSubarray(list, { minLength: list.length });
    return fc.tuple(shuffled, shuffled);
  });
}

describe('the standard driver, for any list of names', () => {
  it('sorts by the sequence number, for any clients and any order in which the server lists them', () => {
    fc.assert(
      fc.property(shuffledTwice(nativeNames), ([names]) => {
        const bySequence = names.toSorted((a, b) => Number(a.slice(-10)) - Number(b.slice(-10)));
        expect(standardDriver.sort(names)).to.deep.equal(bySequence);
      }),
    );
  });

  it('sorts the same names in the same way, in whatever order they come, including foreign names', () => {
    const mixed = fc.tuple(
      nativeNames,
      fc.uniqueArray(foreign, { maxLength: 10, selector: (name) => standardDriver.sort([name])[0] }),
    );
    const distinct = mixed
      .map(([native, others]) => [...native, ...others])
      .filter((names) => new Set(names.map((name) => name.slice(name.lastIndexOf('lock-') + 5))).size === names.length);
    fc.assert(
      fc.property(shuffledTwice(distinct), ([names, sameNames]) => {
        expect(standardDriver.sort(names)).to.deep.equal(standardDriver.sort(sameNames));
      }),
    );
  });

  it('ignores that the uuids sort in the reverse order', () => {
    fc.assert(
      fc.property(sequences, fc.uniqueArray(fc.uuid(), { minLength: 60, maxLength: 60 }), (numbers, uuids) => {
        const ascending = numbers.toSorted((a, b) => a - b);
        const descending = uuids.toSorted().toReversed();
        const names = ascending.map(
          (number, index) => `${protectedPrefix(descending[index] ?? '', 'lock-')}${printed(number)}`,
        );
        expect(standardDriver.sort(names.toReversed())).to.deep.equal(names);
      }),
    );
  });

  it('neither loses nor adds a name, and does not change the list', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (names) => {
        const before = [...names];
        expect(standardDriver.sort(names)).to.have.members(before).and.have.length(before.length);
        expect(names).to.deep.equal(before);
      }),
    );
  });

  it('grants exactly one, and that is the first', () => {
    fc.assert(
      fc.property(nativeNames, (names) => {
        const sorted = standardDriver.sort(names);
        expect(sorted.filter((name) => standardDriver.decide(sorted, name).held)).to.deep.equal(sorted.slice(0, 1));
      }),
    );
  });

  it('makes every waiter watch its predecessor, so that one departure wakes one waiter', () => {
    fc.assert(
      fc.property(nativeNames, (names) => {
        const sorted = standardDriver.sort(names);
        const watched = sorted.flatMap((name) => {
          const decision = standardDriver.decide(sorted, name);
          return decision.held ? [] : [decision.watch];
        });
        expect(watched).to.deep.equal(sorted.slice(0, -1));
      }),
    );
  });

  it('serves all in the order of creation if holders leave one by one and newcomers arrive at any time', () => {
    fc.assert(
      fc.property(sequences, fc.infiniteStream(fc.boolean()), fc.infiniteStream(heads), (numbers, comes, head) => {
        const arriving = numbers.toSorted((a, b) => a - b).map((number) => `${head.next().value}${printed(number)}`);
        const served: string[] = [];
        const waiting: string[] = [];
        for (const next = [...arriving]; next.length > 0 || waiting.length > 0;) {
          const newcomer = waiting.length === 0 || comes.next().value ? next.shift() : undefined;
          if (newcomer !== undefined) waiting.unshift(newcomer);
          const holders = waiting.filter((name) => standardDriver.decide(standardDriver.sort(waiting), name).held);
          expect(holders).to.have.length(1);
          if (newcomer === undefined) served.push(...waiting.splice(waiting.indexOf(holders[0] ?? ''), 1));
        }
        expect(served).to.deep.equal(arriving);
      }),
    );
  });
});

describe('names, for any uuid and sequence', () => {
  const int32 = fc.integer({ min: -(2 ** 31), max: SEQUENCE_MAX });
  const serverPrints = (n: number) => (n < 0 ? `-${String(-n).padStart(9, '0')}` : printed(n));

  it('return the parts that they were made of, and are native', () => {
    fc.assert(
      fc.property(fc.uuid(), int32, fc.constantFrom('lock-', 'lease-', '__READ__'), (uuid, sequence, lockName) => {
        const name = protectedPrefix(uuid, lockName) + serverPrints(sequence);
        expect(uuidOf(name)).to.equal(uuid);
        expect(sequenceOf(name, lockName)).to.equal(sequence);
        expect(foreignNames([name], lockName)).to.deep.equal([]);
      }),
    );
  });

  it('are foreign exactly if another recipe made them', () => {
    fc.assert(
      fc.property(nativeNames, fc.array(foreign), (native, others) => {
        expect(foreignNames([...others, ...native], 'lock-')).to.deep.equal(others);
      }),
    );
  });

  it('are distinguished from all names that differ in one character, as by the rule that parses them', () => {
    const rule = /^_c_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-lock-(-?\d{9,10})$/i;
    const names = fc
      .tuple(fc.uuid(), fc.nat(SEQUENCE_MAX))
      .map(([uuid, n]) => `${protectedPrefix(uuid, 'lock-')}${printed(n)}`);
    fc.assert(
      fc.property(
        names,
        fc.nat(60),
        fc.constantFrom('0', '1', '2', '9', 'a', 'f', 'g', 'A', 'G', 'k', '-', '_', '.'),
        fc.constantFrom('replace', 'insert', 'remove'),
        (name, at, other, how) => {
          const changed =
            name.slice(0, at) + (how === 'remove' ? '' : other) + name.slice(how === 'insert' ? at : at + 1);
          const tail = rule.exec(changed)?.[1];
          const isNative =
            tail !== undefined && Math.abs(Number(tail)) <= SEQUENCE_MAX && serverPrints(Number(tail)) === tail;
          expect(foreignNames([changed], 'lock-')).to.deep.equal(isNative ? [] : [changed]);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it('have a sequence only if the server formats that number in the same way', () => {
    const tails = fc.oneof(fc.stringMatching(/^-?\d{0,12}$/), fc.string());
    fc.assert(
      fc.property(tails, (tail) => {
        const sequence = sequenceOf(`lock-${tail}`, 'lock-');
        if (sequence === undefined) return;
        expect(serverPrints(sequence)).to.equal(tail);
      }),
    );
  });
});
