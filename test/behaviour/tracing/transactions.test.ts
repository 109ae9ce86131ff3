import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessSemaphore,
  LockLostError,
  OutcomeUnknownError,
  RequestFailedError,
  type Hold,
} from '../../../src/index.ts';
import { traceTransaction } from '../../../src/mutex/report/lock-tracing.ts';
import { answered, once } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { takeAway } from '../../../lab/queue.ts';
import { Recording } from '../../../lab/traced.ts';
import { rejection } from '../../../lab/until.ts';

describe('the tracing channel of transactions', () => {
  const lab = labOfEachTest('tracing-transactions', { server: 'own', proxy: true });

  const transactionEvents = ({ events }: Recording): string[] =>
    events.filter((event) => event.startsWith('transaction'));

  for (const [outcome, type, reason, commit] of [
    [
      'refused',
      RequestFailedError,
      'ERR_LOCK_REQUEST_FAILED',
      (hold: Hold) => hold.transaction().check(hold.path, { version: 1 }).commit(),
    ],
    [
      'lost',
      LockLostError,
      'node-deleted',
      async (hold: Hold) => {
        await takeAway(hold, lab.observer);
        return hold.transaction().commit();
      },
    ],
    [
      'unknown',
      OutcomeUnknownError,
      'ERR_LOCK_OUTCOME_UNKNOWN',
      (hold: Hold) => {
        once(lab.proxy, answered('multi'), 'cut');
        return hold.transaction().commit();
      },
    ],
    [
      'failed',
      RangeError,
      undefined,
      (hold: Hold) => {
        const tooLong = hold.transaction();
        for (let index = 0; index < 1_001; index += 1) tooLong.check(hold.path);
        return tooLong.commit();
      },
    ],
  ] as const)
    it(`publishes a commit whose outcome is "${outcome}", with the error that it rejects with`, async () => {
      using recording = new Recording();
      const hold = await lab.mutex.acquire();
      const { fencingToken } = hold;
      const error = await rejection(commit(hold));
      await hold.release();
      expect(error).to.be.instanceOf(type);
      const [message] = recording.messages.transaction;
      expect(message).to.include({ path: lab.path, kind: 'mutex', mode: 'commit', fencingToken, isReentrant: false });
      expect(message).to.include({ outcome, reason, error });
      expect(transactionEvents(recording)).to.deep.equal([
        'transaction start',
        'transaction end',
        'transaction error',
        'transaction asyncStart',
        'transaction asyncEnd',
      ]);
    });

  it('publishes a commit that is done', async () => {
    using recording = new Recording();
    let tookMs = NaN;
    const results = await lab.mutex.withLock(async (hold) => {
      const calledAt = lab.now();
      const committed = await hold.transaction().check(hold.path).commit();
      tookMs = lab.now() - calledAt;
      return committed;
    });
    expect(results).to.deep.equal([undefined]);
    const [message] = recording.messages.transaction;
    expect(message).to.include({ outcome: 'committed', reason: undefined, error: undefined });
    expect(message?.durationMs).to.be.closeTo(tookMs, 0.001);
    expect(transactionEvents(recording)).not.to.include('transaction error');
  });

  it('publishes a commit of a lease', async () => {
    using recording = new Recording();
    const lease = await new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 }).acquire();
    const { fencingToken } = lease;
    await lease.transaction().check(lease.path).commit();
    await lease.release();
    const [message] = recording.messages.transaction;
    expect(message).to.include({ path: lab.path, kind: 'semaphore', fencingToken, outcome: 'committed' });
  });

  it('publishes a commit of a multi-lock once, as one of its first lock', async () => {
    using recording = new Recording();
    const mutexes = ['a', 'b'].map((name) => new InterProcessMutex(lab.client, `${lab.path}-${name}`));
    const both = await new InterProcessMultiLock(mutexes).acquire();
    await both.transaction().commit();
    const { fencingToken } = both.holds[0] ?? {};
    await both.release();
    const [message, ...others] = recording.messages.transaction;
    expect(others).to.deep.equal([]);
    expect(message).to.include({ path: `${lab.path}-a`, kind: 'mutex', fencingToken, outcome: 'committed' });
  });

  it('costs nothing while nobody subscribes: the hold is not looked at', async () => {
    await using hold = await lab.mutex.acquire();
    const untouched = new Proxy(hold, {
      get: (_hold, field) => {
        throw new Error(`${String(field)} was read`);
      },
    });
    const committed = Promise.resolve();
    expect(traceTransaction(untouched, () => committed)).to.equal(committed);
  });
});
