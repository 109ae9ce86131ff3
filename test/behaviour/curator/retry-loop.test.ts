import { expect } from 'chai';
import { InterProcessMutex, LockClient, retryForever, retryOnce, type RetryPolicy } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';
import { reached } from '../../../lab/reached.ts';

/** Records the calls of a policy and its answers. */
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
  const lab = labOfEachTest('retry-loop', { server: 'own', client: 'none' });

  it('testRetryLoop: a call that succeeds at once does not ask the retry policy', async () => {
    const retryPolicy = noted(retryOnce(1));
    await using client = await LockClient.connect(lab.server.connectString, { retryPolicy });
    await new InterProcessMutex(client, testPath('at-once')).withLock(() => undefined);
    expect(retryPolicy.asked).to.deep.equal([]);
  });

  it('testRetryLoopWithFailure: an acquire during an outage succeeds without a retry', async () => {
    const retryPolicy = noted(retryOnce(1));
    await using client = await LockClient.connect(lab.server.connectString, { retryPolicy, sessionTimeoutMs: 10_000 });
    const suspended = reached(client, 'suspended');
    await lab.server.kill();
    await suspended;
    const acquiring = new InterProcessMutex(client, testPath('restarted')).acquire();
    await lab.server.start();
    const hold = await acquiring;
    expect(hold.isValid).to.equal(true);
    expect(retryPolicy.asked).to.deep.equal([]);
    await hold.release();
  });

  it('testRetryForever: each deletion of the waiter’s znode is retried', async () => {
    const retryPolicy = noted(retryForever(1));
    await using client = await LockClient.connect(lab.server.connectString, { retryPolicy, sessionTimeoutMs: 10_000 });
    await using other = await LockClient.connect(lab.server.connectString);
    await using outside = await connectObserver(lab.server.connectString);
    const path = testPath('forever');
    const gate = await new InterProcessMutex(other, path).acquire();
    const mutex = new InterProcessMutex(client, path);
    const waiting = mutex.acquire();
    for (let sequence = 1; sequence <= 10; sequence += 1) {
      await until('the waiter is queued', async () =>
        (await mutex.participants()).some((participant) => participant.sequence === sequence),
      );
      await outside.remove((await mutex.participants())[1]?.path ?? '/');
    }
    await gate.release();
    await (await waiting).release();
    expect(retryPolicy.asked).to.deep.equal(
      Array.from({ length: 10 }, (_, retryCount) => ({ retryCount, retry: true })),
    );
  });
});
