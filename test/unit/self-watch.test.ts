import { expect } from 'chai';
import { SelfWatch, type OwnZnode } from '../../src/internals/znode/self-watch.ts';
import type { Session } from '../../src/zookeeper/session/session.ts';
import type { WatchListener } from '../../src/zookeeper/session/watches.ts';

describe('the watch of a process on its own znode', () => {
  it('is not promised by an answer that arrives together with the event that ends that watch', async () => {
    const looks: { readonly listener: WatchListener; readonly answer: () => void }[] = [];
    const session = {
      epoch: 1,
      ask: (question: () => Promise<unknown>) => question(),
      watches: {
        plant: (_path: string, _what: 'data', listener: WatchListener) =>
          new Promise((resolve) => {
            looks.push({ listener, answer: () => resolve({ data: Buffer.alloc(0), stat: { czxid: 1n, mzxid: 1n } }) });
          }),
      },
    } as unknown as Session;
    const watch = new SelfWatch({ session, path: '/locks/a/own', isThere: true } as unknown as OwnZnode);
    watch.plant();
    await turn();
    looks[0]?.answer();
    looks[0]?.listener('changed');
    await turn();
    expect([looks.length, watch.isDeletionWatched]).to.deep.equal([2, false]);
    looks[1]?.answer();
    await turn();
    expect(watch.isDeletionWatched).to.equal(true);
  });
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
