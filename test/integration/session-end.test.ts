import { expect } from 'chai';
import { InterProcessMultiLock, InterProcessMutex, LockLostError, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../harness/lab.ts';
import { testPath } from '../../harness/test-path.ts';
import { aborted, rejection } from '../../harness/until.ts';

/** What somebody sees who looks at one hold while another one's loss is told. */
interface Seen {
  readonly isValid: boolean;
  readonly asserted: unknown;
  readonly isAborted: boolean;
  readonly released: Promise<string>;
}

describe('in the middle of a session’s end', () => {
  const lab = labOfEachTest('session-end');

  const ends: Record<string, () => Promise<void>> = {
    'the server has ended it': () => lab.observer.endSession(lab.client),
    'the client is closed': () => lab.client.close(),
  };

  /** The first to be told looks at the one that is told after it. */
  function lookAt(other: Hold): Seen {
    let asserted: unknown;
    try {
      other.assertValid();
    } catch (error) {
      asserted = error;
    }
    return { asserted, isValid: other.isValid, isAborted: other.signal.aborted, released: other.release() };
  }

  for (const [why, end] of Object.entries(ends)) {
    it(`every hold is lost when the first is told, and says so: ${why}`, async () => {
      const mutexes = ['a', 'b', 'c'].map((name) => new InterProcessMutex(lab.client, testPath(name)));
      const news: string[] = [];
      for (const mutex of mutexes)
        for (const event of ['lost', 'released'] as const) mutex.on(event, () => news.push(event));
      const holds = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
      const seen: Seen[] = [];
      for (const hold of holds)
        hold.signal.addEventListener('abort', () => seen.push(...holds.filter((other) => other !== hold).map(lookAt)));
      await Promise.all([end(), ...holds.map(({ signal }) => aborted(signal))]);
      expect(seen).to.have.length(6);
      for (const { isValid, asserted, isAborted, released } of seen) {
        expect({ isValid, isAborted, released: await released }).to.deep.equal({
          isValid: false,
          isAborted: true,
          released: 'lost',
        });
        expect(asserted).to.be.instanceOf(LockLostError);
      }
      expect(news).to.deep.equal(['lost', 'lost', 'lost']);
    });

    it(`withLock rejects with the loss, not with NotOwnedError, where a listener has looked at its hold first: ${why}`, async () => {
      const first = await new InterProcessMutex(lab.client, testPath('first')).acquire();
      const second = new InterProcessMutex(lab.client, testPath('second'));
      let error: Promise<Error> | undefined;
      await new Promise<void>((started) => {
        error = rejection(
          second.withLock((hold) => {
            first.signal.addEventListener('abort', () => void hold.release());
            started();
            return aborted(first.signal);
          }),
        );
      });
      await Promise.all([end(), aborted(first.signal)]);
      expect(await error).to.be.instanceOf(LockLostError);
      await first.release();
    });

    it(`a hold of several locks is lost as soon as one of them is told: ${why}`, async () => {
      const lock = new InterProcessMultiLock(
        ['x', 'y'].map((name) => new InterProcessMutex(lab.client, testPath(name))),
      );
      const both = await lock.acquire();
      const [x] = both.holds;
      const seen: boolean[] = [];
      x?.signal.addEventListener('abort', () => seen.push(both.isValid, both.signal.aborted));
      await Promise.all([end(), aborted(both.signal)]);
      expect(seen).to.deep.equal([false, true]);
      expect(await both.release()).to.equal('lost');
    });
  }
});
