import { expect } from 'chai';
import fc from 'fast-check';
import { foreignNames, protectedPrefix, SEQUENCE_MAX } from '../../src/driver/names.js';
import { readDriver, writeDriver } from '../../src/read-write/read-write-driver.js';

interface Znode {
  readonly name: string;
  readonly kind: 'read' | 'write';
  readonly sequence: number;
}

const lockNames = { read: '__READ__', write: '__WRIT__' };
const drivers = { read: readDriver, write: writeDriver };

function znode(uuid: string, kind: Znode['kind'], sequence: number): Znode {
  return { name: `${protectedPrefix(uuid, lockNames[kind])}${String(sequence).padStart(10, '0')}`, kind, sequence };
}

const sequences = fc.uniqueArray(fc.oneof(fc.nat(SEQUENCE_MAX), fc.nat(30)), { minLength: 1, maxLength: 40 });
const queues = sequences.chain((numbers) =>
  fc.tuple(
    ...numbers
      .toSorted((a, b) => a - b)
      .map((number) =>
        fc
          .tuple(fc.uuid(), fc.constantFrom('read' as const, 'write' as const))
          .map(([uuid, kind]) => znode(uuid, kind, number)),
      ),
  ),
);
/**
 * A queue, with readers that were writers beside some of its writers; and its names in two orders in which a server
 * might list them.
 */
const lists = queues
  .chain((queue) =>
    fc.tuple(
      ...queue.map((one) =>
        fc
          .tuple(fc.uuid(), fc.boolean())
          .map(([uuid, goesOver]) =>
            goesOver && one.kind === 'write' ? [one, znode(uuid, 'read', one.sequence)] : [one],
          ),
      ),
    ),
  )
  .chain((pairs) => {
    const queue = pairs.flat();
    const shuffled = fc.shuffledSubarray(
      queue.map(({ name }) => name),
      { minLength: queue.length },
    );
    return fc.record({ queue: fc.constant(queue), names: shuffled, sameNames: shuffled });
  });

const holders = (queue: readonly Znode[]): Znode[] => {
  const sorted = readDriver.sort(queue.map(({ name }) => name));
  return queue.filter(({ name, kind }) => drivers[kind].decide(sorted, name).held);
};

describe('the drivers of readers and writers, for any queue', () => {
  it('sort by the sequence number, whichever lock name stands before it, and the same way in whatever order the names come', () => {
    fc.assert(
      fc.property(lists, ({ queue, names, sameNames }) => {
        const before = [...names];
        expect(readDriver.sort(names)).to.deep.equal(queue.map(({ name }) => name));
        expect(writeDriver.sort(sameNames)).to.deep.equal(readDriver.sort(names));
        expect(names).to.deep.equal(before);
      }),
    );
  });

  it('let either one writer hold, or readers, and never nobody', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const kinds = holders(queue).map(({ kind }) => kind);
        if (kinds.includes('write')) expect(kinds).to.deep.equal(['write']);
        else expect(kinds).to.have.length.greaterThan(0);
      }),
    );
  });

  it('let in exactly the readers that no writer stands before, and a writer that nobody stands before', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const firstWriter = queue.findIndex(({ kind }) => kind === 'write');
        const expected = firstWriter < 0 ? queue : firstWriter === 0 ? queue.slice(0, 1) : queue.slice(0, firstWriter);
        expect(holders(queue)).to.deep.equal(expected);
      }),
    );
  });

  it('let a reader that was the writer keep everybody else’s writer out, and other readers in, when it writes no more', () => {
    fc.assert(
      fc.property(queues, fc.uuid(), (rest, uuid) => {
        const reader = znode(uuid, 'read', -1 + (rest[0]?.sequence ?? 0));
        fc.pre(reader.sequence >= 0);
        const now = holders([reader, ...rest]);
        expect(now).to.include(reader);
        expect(now.every(({ kind }) => kind === 'read')).to.equal(true);
      }),
    );
  });

  it('let who waits watch one that is before it: a writer the last one, a reader the first writer', () => {
    fc.assert(
      fc.property(lists, ({ queue }) => {
        const sorted = queue.map(({ name }) => name);
        for (const [index, { name, kind }] of queue.entries()) {
          const decision = drivers[kind].decide(sorted, name);
          if (decision.held) continue;
          const before = queue.slice(0, index);
          const expected = kind === 'write' ? before.at(-1) : before.find((one) => one.kind === 'write');
          expect(decision.watch).to.equal(expected?.name);
        }
      }),
    );
  });

  it('serve everybody, and writers in their order, if holders go in any order and newcomers come at any time', () => {
    fc.assert(
      fc.property(queues, fc.infiniteStream(fc.nat()), (arriving, chance) => {
        const draw = (count: number): number => (chance.next().value ?? 0) % count;
        const waiting: Znode[] = [];
        const served: Znode[] = [];
        for (const next = [...arriving]; next.length > 0 || waiting.length > 0;) {
          if (next.length > 0 && (waiting.length === 0 || draw(2) === 0)) waiting.push(next.shift() as Znode);
          const inside = holders(waiting);
          const [leaving] = inside.slice(draw(inside.length));
          expect(leaving).to.not.equal(undefined);
          served.push(...waiting.splice(waiting.indexOf(leaving as Znode), 1));
        }
        expect(served).to.have.members(arriving);
        // Nobody overtakes a writer, and a writer overtakes nobody.
        for (const writer of served.filter(({ kind }) => kind === 'write')) {
          expect(served.slice(0, served.indexOf(writer)).every(({ sequence }) => sequence < writer.sequence)).to.equal(
            true,
          );
        }
      }),
    );
  });

  it('are append-only neither of them, and native to each other, while other locks are foreign', () => {
    fc.assert(
      fc.property(queues, fc.uuid(), fc.nat(SEQUENCE_MAX), (queue, uuid, sequence) => {
        const names = queue.map(({ name }) => name);
        const mutex = `${protectedPrefix(uuid, 'lock-')}${String(sequence).padStart(10, '0')}`;
        for (const driver of [readDriver, writeDriver]) {
          expect(driver.appendOnly).to.equal(false);
          expect(foreignNames([...names, mutex], ...(driver.lockNames ?? []))).to.deep.equal([mutex]);
        }
        expect(foreignNames([...names, mutex], 'lock-')).to.deep.equal(names);
      }),
    );
  });

  it('refuse to decide for one who is not in the list', () => {
    for (const driver of [readDriver, writeDriver])
      expect(() => driver.decide([], 'nobody')).to.throw(RangeError, 'nobody');
  });
});
