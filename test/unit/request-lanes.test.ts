import { expect } from 'chai';
import {
  closeSession,
  createPersistent,
  exists,
  getChildren,
  openAcl,
  remove,
  removeWatch,
  setWatches,
  sync,
  type Operation,
} from '../../src/zookeeper/wire/operations.ts';
import { check } from '../../src/zookeeper/wire/transaction.ts';
import { Call } from '../../src/zookeeper/wire/replies.ts';
import { RequestLanes } from '../../src/zookeeper/connection/flow-window.ts';

const ignore = (): void => undefined;

describe('the requests that wait for room in the window', () => {
  it('go out as proofs, then releases, and then the rest, each in call order', () => {
    const lanes = new RequestLanes();
    const usual = [createPersistent('/a', openAcl), getChildren('/a'), exists('/b')];
    const releases = [removeWatch('/a', 'data'), remove('/b'), closeSession()];
    const proofs = [check(['/a']), sync('/'), setWatches(1n, 'data', () => ['/a'])];
    const [create, list, last] = usual;
    const [removal, deletion, end] = releases;
    const [proof, behind, watches] = proofs;
    for (const operation of [create, removal, deletion, proof, list, behind, end, last, watches])
      lanes.add(new Call(operation as Operation<unknown>, ignore, ignore));
    const sent = lanes.takeAll().map(({ operation }) => operation);
    expect(sent).to.deep.equal([...proofs, ...releases, ...usual]);
    expect(lanes.isEmpty).to.equal(true);
  });
});
