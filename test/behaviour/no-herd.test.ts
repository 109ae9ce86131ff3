import { expect } from 'chai';
import { InterProcessMutex, type Hold, type LockClient } from '../../src/index.ts';
import { exists } from '../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches } from '../../lab/queue.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';

const sessions = 64;

describe(`in a queue of ${sessions} sessions`, () => {
  const lab = labOfEachTest('no-herd', { server: 'own', proxy: true, client: 'none' });

  interface Waiter {
    readonly client: LockClient;
    readonly granted: Promise<Hold>;
    readonly connection: number;
  }

  const newClient = async (): Promise<{ client: LockClient; connection: number }> => {
    // So long that no session becomes stale, which would attach anew by another connection.
    const client = await lab.connect({ sessionTimeoutMs: 60_000 });
    const { connection = 0 } = lab.proxy.frames.findLast(({ op }) => op === 'connect') ?? {};
    return { client, connection };
  };

  /** One connection answers in order: the waiter has the answers to all requests that it has sent. */
  const settled = ({ client }: Waiter): Promise<unknown> => client.session.request(exists('/'));

  /** The waiters in the order of the queue. */
  const queueUp = async (): Promise<Waiter[]> => {
    const waiters: Waiter[] = [];
    while (waiters.length < sessions) {
      const { client, connection } = await newClient();
      const mutex = new InterProcessMutex(client, lab.path);
      const granted = mutex.acquire();
      await queueReaches(mutex, waiters.length + 1);
      waiters.push({ client, granted, connection });
    }
    await Promise.all(waiters.map(settled));
    return waiters;
  };

  const eventsTo = (waiters: readonly Waiter[], path: string): Frame[] =>
    lab.proxy.frames.filter(
      (frame) =>
        frame.op === 'watch' &&
        frame.path === path &&
        waiters.some(({ connection }) => connection === frame.connection),
    );
  const listsOf = (connection: number): Frame[] =>
    lab.proxy.frames.filter(
      (frame) => frame.from === 'client' && frame.connection === connection && frame.op === 'getChildren2',
    );

  it('a departure sends an event to two waiters, and no list is sent between the event and the grant', async () => {
    const waiters = await queueUp();
    for (let index = 0; index < sessions; index += 1) {
      const { granted } = waiters[index] as Waiter;
      const [next, looker] = waiters.slice(index + 1) as [Waiter?, Waiter?];
      const hold = await granted;
      lab.proxy.clear();
      await hold.release();
      if (!next) break;
      await next.granted;
      // It has looked ahead, and its watch on its own znode is planted.
      if (looker && index > 0) await lab.proxy.seen((frame) => frame.op === 'getChildren2' && frame.from === 'server');
      if (looker) await settled(looker);
      expect(eventsTo(waiters.slice(index + 1), hold.path)).to.have.length(looker ? 2 : 1);
      expect(listsOf(next.connection), `the grant of waiter ${index + 1}`).to.deep.equal([]);
      expect(waiters.flatMap(({ connection }) => listsOf(connection))).to.have.length(looker && index > 0 ? 1 : 0);
    }
  });
});
