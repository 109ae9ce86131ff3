import { expect } from 'chai';
import { renewWatches } from '../../src/zookeeper/connection/watch-renewal.ts';
import type { Operation, WatchKind } from '../../src/zookeeper/wire/operations.ts';
import { errorOf, type Reply } from '../../src/zookeeper/wire/replies.ts';
import { errorNumbers } from '../../src/zookeeper/wire/zookeeper-error.ts';

describe('the renewal of watches at a server without SetWatches', () => {
  const since = 7n;
  /** The events that the read of one watched znode tells. */
  const toldBy = async (
    answer: (operation: Operation<unknown>) => Promise<unknown>,
    watched: WatchKind = 'data',
  ): Promise<string[]> => {
    const told: string[] = [];
    renewWatches({
      since,
      chrootBytes: 0,
      oneByOne: true,
      paths: (kind) => (kind === watched ? ['/a'] : []),
      send: <T>(operation: Operation<T>) =>
        answer(operation).then((value) => ({ value, zxid: 9n, wasPostponed: false }) as Reply<T>),
      fired: (path, event) => told.push(`${path} ${event}`),
      failed: () => told.push('failed'),
    });
    await new Promise(setImmediate);
    return told;
  };
  const refusedBy = (error: keyof typeof errorNumbers, watched?: WatchKind): Promise<string[]> =>
    toldBy((operation) => Promise.reject(errorOf(operation, errorNumbers[error])), watched);

  it('tells of a change by the first transaction that the session has not seen, and of no earlier one', async () => {
    const changedBy = (mzxid: bigint): Promise<string[]> => toldBy(() => Promise.resolve({ stat: { mzxid } }));
    expect(await changedBy(since)).to.deep.equal([]);
    expect(await changedBy(since + 1n)).to.deep.equal(['/a changed']);
  });

  it('tells of a deletion, and lets the listener read again after another refusal', async () => {
    expect(await refusedBy('CONNECTION_LOSS')).to.deep.equal([]);
    expect(await refusedBy('NO_NODE')).to.deep.equal(['/a deleted']);
    expect(await refusedBy('NO_AUTH')).to.deep.equal(['/a changed']);
  });

  it('lists the children of a znode again, and lets its listener list them in any case', async () => {
    const read: string[] = [];
    const list = (operation: Operation<unknown>): Promise<unknown> => {
      read.push(`${operation.name} ${operation.path}`);
      return Promise.resolve([]);
    };
    expect(await toldBy(list, 'children')).to.deep.equal(['/a children']);
    expect(read).to.deep.equal(['getChildren2 /a']);
    expect(await refusedBy('NO_AUTH', 'children')).to.deep.equal(['/a children']);
    expect(await refusedBy('NO_NODE', 'children')).to.deep.equal(['/a deleted']);
  });
});
