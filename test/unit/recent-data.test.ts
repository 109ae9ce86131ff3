import { expect } from 'chai';
import { RecentData } from '../../src/internals/recent-data.ts';

describe('the data that a client has read most recently', () => {
  it('is found by path and transaction, the newest of each znode', () => {
    const recent = new RecentData();
    recent.remember('/a', 1n, Buffer.from('first'));
    recent.remember('/a', 2n, Buffer.from('another znode'));
    recent.remember('/a', 1n, Buffer.from('second'));
    expect(recent.recall('/a', 1n)?.toString()).to.equal('second');
    expect(recent.recall('/a', 2n)?.toString()).to.equal('another znode');
    expect(recent.recall('/b', 1n)).to.equal(undefined);
  });

  it('is kept for a thousand znodes, the most recently read ones', () => {
    const recent = new RecentData();
    for (let znode = 0n; znode < 1_000n; znode += 1n) recent.remember('/a', znode, Buffer.alloc(1));
    recent.remember('/a', 0n, Buffer.alloc(1));
    recent.remember('/a', 1_000n, Buffer.alloc(1));
    expect([0n, 1n, 2n, 1_000n].map((znode) => recent.recall('/a', znode) !== undefined)).to.deep.equal([
      true,
      false,
      true,
      true,
    ]);
  });

  it('is kept after it was used, whatever is read later, until the znode has new data', () => {
    const recent = new RecentData();
    recent.remember('/a', 1n, Buffer.from('first'));
    recent.recall('/a', 1n);
    for (let znode = 2n; znode < 2_000n; znode += 1n) recent.remember('/a', znode, Buffer.alloc(1));
    expect(recent.recall('/a', 1n)?.toString()).to.equal('first');
    recent.remember('/a', 1n, Buffer.from('second'));
    expect(recent.recall('/a', 1n)?.toString()).to.equal('second');
  });

  it('is kept for a thousand used znodes, too', () => {
    const recent = new RecentData();
    for (let znode = 0n; znode < 3_000n; znode += 1n) {
      recent.remember('/a', znode, Buffer.alloc(1));
      recent.recall('/a', znode);
    }
    expect([1_999n, 2_000n, 2_999n].map((znode) => recent.recall('/a', znode) !== undefined)).to.deep.equal([
      false,
      true,
      true,
    ]);
  });

  it('takes at most four megabytes', () => {
    const recent = new RecentData();
    const megabyte = Buffer.alloc(1_024 * 1_024);
    for (let znode = 0n; znode < 5n; znode += 1n) recent.remember('/a', znode, megabyte);
    for (let again = 0; again < 10; again += 1) recent.remember('/a', 4n, megabyte);
    expect([0n, 1n, 4n].map((znode) => recent.recall('/a', znode) !== undefined)).to.deep.equal([false, true, true]);
  });
});
