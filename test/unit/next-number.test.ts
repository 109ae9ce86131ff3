import { expect } from 'chai';
import { doubtfulNames } from '../../src/driver/names.ts';
import { getChildList } from '../../src/zookeeper/wire/operations.ts';
import { Reader } from '../../src/zookeeper/wire/wire.ts';
import { RecordWriter } from '../../lab/wire/record.ts';

describe('the number that the next sequential child gets', () => {
  const nextOf = (creates: number, deletes: number, names: readonly string[] = []): number => {
    const stat = Buffer.alloc(68);
    // The server counts in 32 bits.
    stat.writeInt32BE((creates + deletes) | 0, 36);
    stat.writeInt32BE(creates - deletes, 56);
    const list = new RecordWriter();
    list.vector(names, (name) => list.bytes(name)).raw(stat);
    return getChildList('/lock').read(new Reader(list.body())).next;
  };

  it('is the number of creates', () => {
    expect(nextOf(7, 4)).to.equal(7);
  });

  it('is right after 2^30 creates and deletes, too', () => {
    expect(nextOf(2 ** 30 + 10, 2 ** 30 + 7)).to.equal(2 ** 30 + 10);
  });

  it('is not read from a list with a name that none can have', () => {
    for (const name of ['', 'a/b']) expect(() => nextOf(7, 4, ['a', name])).to.throw(RangeError, 'a name that is none');
    expect(nextOf(7, 4, ['a', 'b'])).to.equal(7);
  });

  it('makes a name doubtful that has a later number, and the second one of two with the same number', () => {
    const names = ['_c_a-lock-0000000005', '_c_b-lock-0000000009', '_c_c-lock-0000000005', 'leases'];
    expect(doubtfulNames(names, 9)).to.deep.equal(['_c_b-lock-0000000009', '_c_c-lock-0000000005']);
    expect(doubtfulNames(names, 10)).to.deep.equal(['_c_c-lock-0000000005']);
  });
});
