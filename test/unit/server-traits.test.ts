import { expect } from 'chai';
import { ServerTraits } from '../../src/zookeeper/connection/server-traits.ts';

describe('the traits of servers', () => {
  it('blame the operation that never had an answer, also if others were on their way beside it', () => {
    const traits = new ServerTraits(() => 0);
    for (const known of ['create2', 'multi', 'getChildren2', 'sync']) traits.answered(known, 0);
    const end = (...operations: string[]): string | undefined =>
      traits.endedAt(
        operations.map((name) => ({ name, bytes: 0 })),
        '127.0.0.1:2181',
        undefined,
      )?.why.operation;
    expect(end('sync')).to.equal(undefined);
    traits.answered('multi', 0);
    expect(end('multi', 'getChildren2', 'sync')).to.equal(undefined);
    traits.answered('multi', 0);
    expect(end('sync', 'exists')).to.equal('sync');
  });

  it('withhold a request from the server that ends each connection at it, and from no other', () => {
    const traits = new ServerTraits(() => 0);
    for (let times = 0; times < 3; times += 1)
      traits.endedAt([{ name: 'createContainer', bytes: 0 }], 'first:2181', undefined);
    expect(traits.whyNotToSend('createContainer', 0, 'first:2181')).to.have.property('operation', 'createContainer');
    expect(traits.whyNotToSend('createContainer', 0, 'second:2181')).to.equal(undefined);
  });
});
