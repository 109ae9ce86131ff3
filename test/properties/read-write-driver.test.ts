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
 * A queue in which some of the writers have a downgraded reader beside them, and its names in two orders in which a
 * server might list them.
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
  it('sort by the sequence number, with either lock name before it, and in the same way in whatever order the names come', () => {
    fc.assert(
      fc.property(lists, ({ queue, names, sameNames }) => {
        const before = [...names];
        expect(readDriver.sort(names)).to.deep.equal(queue.map(({ name }) => name));
        expect(writeDriver.sort(sameNames)).to.deep.equal(readDriver.sort(names));
        expect(names).to.deep.equal(before);
      }),
    );
  });

  it('grant either one writer or readers, and never none', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const kinds = holders(queue).map(({ kind }) => kind);
        if (kinds.includes('write')) expect(kinds).to.deep.equal(['write']);
        else expect(kinds).to.have.length.greaterThan(0);
      }),
    );
  });

  it('grant exactly the readers that have no writer before them, and a writer that has no znode before it', () => {
    fc.assert(
      fc.property(queues, (queue) => {
        const firstWriter = queue.findIndex(({ kind }) => kind === 'write');
        const expected = firstWriter < 0 ? queue : firstWriter === 0 ? queue.slice(0, 1) : queue.slice(0, firstWriter);
        expect(holders(queue)).to.deep.equal(expected);
      }),
    );
  });

  it('let a downgraded reader exclude every other writer, but no readers, after it has stopped writing', () => {
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

  it('make each waiter watch a znode before it: a writer the last one, a reader the first writer', () => {
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

  it('serve all, and writers in their order, if holders leave in any order and newcomers arrive at any time', () => {
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
        // No znode overtakes a writer, and a writer overtakes no znode.
        for (const writer of served.filter(({ kind }) => kind === 'write')) {
          expect(served.slice(0, served.indexOf(writer)).every(({ sequence }) => sequence < writer.sequence)).to.equal(
            true,
          );
        }
      }),
    );
  });

  it('are both not append-only, and native to each other, while other locks are foreign', () => {
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

  it('refuse to decide for a name that is not in the list', () => {
    for (const driver of [readDriver, writeDriver])
      expect(() => driver.decide([], 'nobody')).to.throw(RangeError, 'nobody');
  });
});
