import { expect } from 'chai';
import { forceRelease, InterProcessMultiLock, InterProcessSemaphore, watchQueue } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection } from '../../lab/until.ts';

describe('a session that lives for a long time', () => {
  const lab = labOfEachTest('listeners', { server: 'own', proxy: true });
  let open = 0;

  beforeEach(() => {
    const { session } = lab.client;
    const { onChange } = session;
    open = 0;
    session.onChange = (listener) => {
      const stop = onChange.call(session, listener);
      let isOpen = true;
      open += 1;
      return () => {
        if (isOpen) open -= 1;
        isOpen = false;
        stop();
      };
    };
  });

  /** Nothing is left but what the first use leaves: each session has listeners of its own. */
  async function leavesNone(use: () => Promise<unknown>): Promise<void> {
    await use();
    const before = open;
    await use();
    await use();
    expect(open).to.equal(before);
  }

  it('has no listener of a hold that was released', () =>
    leavesNone(async () => (await lab.mutex.acquire()).release()));

  it('has no listener of a hold that was released in an outage', () =>
    leavesNone(async () => {
      const hold = await lab.mutex.acquire();
      await lab.disconnect();
      const released = hold.release();
      await lab.proxy.accept();
      await released;
      await lab.mutex.participants();
    }));

  it('has no listener of a waiter that gave up', async () => {
    await using _theirs = await lab.theirs.acquire();
    await leavesNone(() => rejection(lab.mutex.acquire({ timeoutMs: 50 })));
  });

  it('has no listener of a multi-lock', () => {
    const multi = new InterProcessMultiLock([
      lab.mutex,
      new InterProcessSemaphore(lab.client, `${lab.path}-s`, { maxLeases: 2 }),
    ]);
    return leavesNone(async () => (await multi.acquire()).release());
  });

  it('has no listener of a transaction that waited for a connection', async () => {
    await using hold = await lab.mutex.acquire();
    await leavesNone(async () => {
      await lab.disconnect();
      const committed = hold.transaction().check('/').commit();
      await lab.proxy.accept();
      await committed;
    });
  });

  it('has no listener of a forced release', () =>
    leavesNone(async () => {
      const hold = await lab.theirs.acquire();
      const forced = forceRelease(lab.client, hold.path);
      await new Promise((resolve) => hold.signal.addEventListener('abort', resolve));
      await hold.release();
      await forced;
    }));

  it('has no listener of an observer that has ended', () =>
    leavesNone(async () => {
      for await (const _queue of watchQueue(lab.client, lab.path)) break;
    }));
});
