import { expect } from 'chai';
import type { LockNode } from '../../src/internals/znode/lock-node.ts';
import { Predecessors } from '../../src/internals/predecessors.ts';
import { Companions } from '../../src/support/companions.ts';
import { Watches, type WatchListener } from '../../src/zookeeper/session/watches.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';

describe('the predecessors of a waiter', () => {
  const standing = { predecessor: '/a/predecessor', before: '/a/before', position: 2 };
  let watches: Watches;

  /** The predecessors of a waiter in a session whose servers refuse to let it watch one znode. */
  const refused = (refusedPath: string): Predecessors => {
    watches = new Watches();
    const session = {
      onChange: () => () => undefined,
      watches: {
        plant: (path: string, _what: 'data', listener: WatchListener) => {
          watches.add(path, listener);
          const refusal = new ZooKeeperError(-102, 'getData', path);
          return path === refusedPath ? Promise.reject(refusal) : Promise.resolve({ data: Buffer.alloc(0), stat: {} });
        },
        remove: (path: string, _what: 'data', listener: WatchListener) => void watches.delete(path, listener),
        has: () => false,
      },
      companions: undefined as unknown,
    };
    session.companions = new Companions(session);
    return new Predecessors({ session } as unknown as LockNode);
  };

  it('keep no watch on a znode that the servers do not let it watch', async () => {
    const predecessors = refused('/a/before');
    const woken: string[] = [];
    predecessors.wait(standing, { wake: (why) => woken.push(why), fail: expect.fail });
    await new Promise((resolve) => setImmediate(resolve));
    expect(watches.paths()).to.deep.equal(['/a/predecessor']);
    expect([predecessors.areAll, woken]).to.deep.equal([false, []]);
    predecessors.close();
    expect(watches.paths()).to.deep.equal([]);
  });

  it('fail its next wait if the watch on the one right before it was refused while it read the queue', async () => {
    const predecessors = refused('/a/predecessor');
    const waitNoMore = predecessors.wait(standing, { wake: expect.fail, fail: expect.fail });
    waitNoMore();
    await new Promise((resolve) => setImmediate(resolve));
    const failures: unknown[] = [];
    predecessors.wait(standing, { wake: expect.fail, fail: (error) => failures.push(error) });
    expect(failures).to.have.length(1);
  });
});
