import { expect } from 'chai';
import { InterProcessMutex, LockClient, type RetryPolicy } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { connectObserver } from '../../lab/wire/observer.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection, until } from '../../lab/until.ts';
import { sent } from '../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';

describe("a lock's parents", () => {
  const lab = labOfEachTest('parents', {
    server: { containerCheckMs: 10 },
    proxy: true,
    client: { sessionTimeoutMs: 10_000 },
  });

  it('are created by one acquire, and later acquires do not overtake it', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('cold'));
    let answer = (): void => undefined;
    const delayUntil = new Promise<void>((resolve) => (answer = resolve));
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'createContainer' ? { delayUntil } : undefined));
    const order: string[] = [];
    const job = (name: string): Promise<void> => mutex.withLock(() => void order.push(name));
    const first = job('first');
    await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'createContainer');
    const others = ['second', 'third', 'fourth'].map(job);
    answer();
    await Promise.all([first, ...others]);
    expect(order).to.deep.equal(['first', 'second', 'third', 'fourth']);
  });

  it('may be missing for many acquires at once: all are served in the order of their calls', async () => {
    const inOrder = Array.from({ length: 50 }, (_, index) => index);
    for (let round = 0; round < 10; round += 1) {
      await using fresh = await LockClient.connect(lab.server.connectString);
      const mutex = new InterProcessMutex(fresh, testPath('burst'));
      const served: number[] = [];
      await Promise.all(inOrder.map((index) => mutex.withLock(() => void served.push(index))));
      expect(served).to.deep.equal(inOrder);
    }
  });

  it('are removed when the lock is free, and created by the next acquire, repeatedly', async () => {
    await using outside = await connectObserver(lab.server.connectString);
    for (let round = 0; round < 5; round += 1) {
      await lab.mutex.withLock((hold) => expect(hold.isValid).to.equal(true));
      await until('the server has removed the empty container', async () => !(await outside.exists(lab.path)));
    }
  });

  it('may be removed between their creation and that of the znode: no acquire fails', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('reaped-in-between'));
    let inside = 0;
    let most = 0;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let round = 0; round < 20; round += 1) {
          await mutex.withLock(async () => {
            inside += 1;
            most = Math.max(most, inside);
            await Promise.resolve();
            inside -= 1;
          });
        }
      }),
    );
    expect(most).to.equal(1);
  });

  it('may be removed before each create of the znode: the retry policy decides, by the number of tries', async () => {
    const counts: number[] = [];
    const retryPolicy: RetryPolicy = {
      allowRetry: ({ retryCount }) => {
        counts.push(retryCount);
        return retryCount < 3 ? { retry: true, sleepMs: 10 } : { retry: false };
      },
    };
    const client = await lab.connect({ sessionTimeoutMs: 10_000, retryPolicy });
    const isOfZnode = (frame: Frame): boolean =>
      sent('create2')(frame) && frame.path?.startsWith(`${lab.path}/`) === true;
    const noNode = -101;
    lab.proxy.on((frame) => (isOfZnode(frame) ? { refuse: noNode } : undefined));
    const error = await rejection(new InterProcessMutex(client, lab.path).acquire({ timeoutMs: 10_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(counts).to.deep.equal([0, 1, 2, 3]);
  });

  it('are persistent if the server has no containers, which is asked once', async () => {
    lab.proxy.on((frame) => {
      if (frame.op !== 'createContainer') return undefined;
      // A server without containers answers UNIMPLEMENTED and closes the connection.
      return frame.from === 'client' ? undefined : { replaceError: -6 };
    });
    const closeAfter = lab.proxy
      .seen((frame) => frame.from === 'server' && frame.op === 'createContainer')
      .then(() => lab.proxy.cut());
    await (await new InterProcessMutex(lab.client, `${lab.path}/one`).acquire()).release();
    await closeAfter;
    await (await new InterProcessMutex(lab.client, `${lab.path}/two`).acquire()).release();
    const created = lab.proxy.frames.filter(
      (frame) => frame.from === 'client' && frame.op.startsWith('create') && frame.op !== 'create2',
    );
    expect(created.filter((frame) => frame.op === 'createContainer')).to.have.length(1);
    expect(created.filter((frame) => frame.op === 'create').map((frame) => frame.path))
      .to.include(`${lab.path}/one`)
      .and.to.include(`${lab.path}/two`);
  });
});
