import { expect } from 'chai';
import { InterProcessMutex, LockClient, retryForever, retryOnce, type RetryPolicy } from '../../../src/index.ts';
import { stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { until } from '../../support/until.ts';
import { startServer, type ZooKeeperServer } from '../../support/zookeeper-server.ts';
import { reached } from './support/states.ts';

/** Notes what a policy is asked, and what it answers. */
function noted(policy: RetryPolicy): RetryPolicy & { readonly asked: { retryCount: number; retry: boolean }[] } {
  const asked: { retryCount: number; retry: boolean }[] = [];
  return {
    asked,
    allowRetry(attempt) {
      const decision = policy.allowRetry(attempt);
      asked.push({ retryCount: attempt.retryCount, retry: decision.retry });
      return decision;
    },
  };
}

describe('TestRetryLoop', () => {
  let server: ZooKeeperServer;

  before(async () => {
    server = await startServer();
  });

  after(() => server.stop());

  it('testRetryLoop: what succeeds at once asks no retry policy', async () => {
    const retryPolicy = noted(retryOnce(1));
    await using client = await LockClient.connect(server.connectString, { retryPolicy });
    await new InterProcessMutex(client, testPath('at-once')).withLock(() => undefined);
    expect(retryPolicy.asked).to.deep.equal([]);
  });

  it('testRetryLoopWithFailure: what begins while the server is stopped succeeds after its restart, and an outage costs no retry', async () => {
    const retryPolicy = noted(retryOnce(1));
    await using client = await LockClient.connect(server.connectString, { retryPolicy, sessionTimeoutMs: 10_000 });
    const suspended = reached(client, 'suspended');
    await server.kill();
    await suspended;
    const acquiring = new InterProcessMutex(client, testPath('restarted')).acquire();
    await server.start();
    const hold = await acquiring;
    expect(hold.isValid).to.equal(true);
    expect(retryPolicy.asked).to.deep.equal([]);
    await hold.release();
  });

  it('testRetryForever: allows every retry of a waiter whose znode is deleted again and again', async () => {
    const retryPolicy = noted(retryForever(1));
    await using client = await LockClient.connect(server.connectString, { retryPolicy, sessionTimeoutMs: 10_000 });
    await using other = await LockClient.connect(server.connectString);
    await using outside = await stranger(server.connectString);
    const path = testPath('forever');
    const gate = await new InterProcessMutex(other, path).acquire();
    const mutex = new InterProcessMutex(client, path);
    const waiting = mutex.acquire();
    for (let sequence = 1; sequence <= 10; sequence += 1) {
      await until('it waits', async () => (await mutex.participants()).some((participant) => participant.sequence === sequence));
      await outside.remove((await mutex.participants())[1]?.path ?? '/');
    }
    await gate.release();
    await (await waiting).release();
    expect(retryPolicy.asked).to.deep.equal(Array.from({ length: 10 }, (_, retryCount) => ({ retryCount, retry: true })));
  });
});
