import { expect } from 'chai';
import { sharedConnectString, sharedZooKeeper } from '../../../lab/hooks.ts';

describe('the shared ZooKeeper', () => {
  it('is one server for all callers', async () => {
    const [first, second] = await Promise.all([sharedZooKeeper(), sharedZooKeeper()]);
    expect(first).to.equal(second);
    expect(sharedConnectString()).to.equal(first.connectString);
  });
});
