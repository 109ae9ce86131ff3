import { expect } from 'chai';
import { doubtfulNames } from '../../src/driver/names.ts';
import { getChildList } from '../../src/zookeeper/wire/operations.ts';
import { Reader } from '../../src/zookeeper/wire/wire.ts';
import { RecordWriter } from '../../lab/wire/record.ts';

describe('the number that the next sequential child gets', () => {
  const nextOf = (creates: number, deletes: number): number => {
    const stat = Buffer.alloc(68);
    // The server counts in 32 bits.
    stat.writeInt32BE((creates + deletes) | 0, 36);
    stat.writeInt32BE(creates - deletes, 56);
    return getChildList('/lock').read(
      new Reader(
        new RecordWriter()
          .vector([], () => undefined)
          .raw(stat)
          .body(),
      ),
    ).next;
  };

  it('is the number of creates', () => {
    expect(nextOf(7, 4)).to.equal(7);
  });

  it('is right after 2^30 creates and deletes, too', () => {
    expect(nextOf(2 ** 30 + 10, 2 ** 30 + 7)).to.equal(2 ** 30 + 10);
  });

  it('makes a name doubtful that has a later number, and the second one of two with the same number', () => {
    const names = ['_c_a-lock-0000000005', '_c_b-lock-0000000009', '_c_c-lock-0000000005', 'leases'];
    expect(doubtfulNames(names, 9)).to.deep.equal(['_c_b-lock-0000000009', '_c_c-lock-0000000005']);
    expect(doubtfulNames(names, 10)).to.deep.equal(['_c_c-lock-0000000005']);
  });
});
