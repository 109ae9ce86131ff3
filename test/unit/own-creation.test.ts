import { expect } from 'chai';
import { fitting } from '../../src/internals/znode/own-creation.ts';
import type { Session } from '../../src/zookeeper/session/session.ts';
import type { Stat } from '../../src/zookeeper/wire/operations.ts';

describe('the answer to a create', () => {
  const answered = (stat: Partial<Stat>, zxid: bigint): unknown => {
    const created = { path: '/a', stat: { czxid: 5n, ephemeralOwner: 1n, ...stat } as Stat };
    return fitting({ created, writes: 0 }, zxid, { id: 1n } as Session);
  };

  it('fits if the znode is of this session, and no newer than the answer', () => {
    for (const zxid of [5n, 6n]) expect(answered({}, zxid)).to.have.nested.property('stat.czxid', 5n);
    expect(answered({ ephemeralOwner: 2n }, 5n)).to.equal('its owner is 0x2');
    expect(answered({}, 4n)).to.equal('it is from transaction 5, and the answer is from 4');
  });
});
