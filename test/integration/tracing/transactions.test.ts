import { expect } from 'chai';
import { LockError, LockLostError, RequestFailedError } from '../../../src/index.ts';
import { traceTransaction } from '../../../src/mutex/lock-tracing.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { Recording } from '../../../harness/traced.ts';
import { rejection } from '../../../harness/until.ts';

class OutcomeUnknown extends LockError {
  constructor() {
    super('ERR_LOCK_OUTCOME_UNKNOWN', 'the answer is lost');
  }
}

describe('the tracing channel of transactions', () => {
  const lab = labOfEachTest('tracing-transactions');

  for (const [outcome, error, reason] of [
    ['refused', new RequestFailedError('setData', new Error('BAD_VERSION')), 'ERR_LOCK_REQUEST_FAILED'],
    ['lost', new LockLostError('/lock', 'node-deleted'), 'node-deleted'],
    ['unknown', new OutcomeUnknown(), 'ERR_LOCK_OUTCOME_UNKNOWN'],
    ['failed', new TypeError('called twice'), undefined],
  ] as const) {
    it(`publishes a commit whose outcome is "${outcome}", and rejects as the commit does`, async () => {
      using recording = new Recording();
      const hold = await lab.mutex.acquire();
      expect(await rejection(traceTransaction(hold, () => Promise.reject(error)))).to.equal(error);
      await hold.release();
      const [message] = recording.messages.transaction;
      const { fencingToken } = hold;
      expect(message).to.include({ path: lab.path, kind: 'mutex', mode: 'commit', fencingToken });
      expect(message).to.include({ outcome, reason, error });
      expect(recording.events.filter((event) => event.startsWith('transaction'))).to.deep.equal([
        'transaction start',
        'transaction end',
        'transaction error',
        'transaction asyncStart',
        'transaction asyncEnd',
      ]);
    });
  }

  it('publishes a commit, and resolves with its results', async () => {
    using recording = new Recording();
    const results = await lab.mutex.withLock((hold) => traceTransaction(hold, () => Promise.resolve(['a'])));
    expect(results).to.deep.equal(['a']);
    const [message] = recording.messages.transaction;
    expect(message).to.include({ outcome: 'committed', reason: undefined, error: undefined });
    expect(message?.durationMs).to.be.at.least(0);
  });

  it('costs nothing while nobody subscribes: the hold is not looked at', async () => {
    const hold = await lab.mutex.acquire();
    const untouched = new Proxy(hold, {
      get: (_hold, field) => {
        throw new Error(`${String(field)} was read`);
      },
    });
    const committed = Promise.resolve();
    expect(traceTransaction(untouched, () => committed)).to.equal(committed);
    await hold.release();
  });
});
