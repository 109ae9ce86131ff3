import { expect } from 'chai';
import { InterProcessMultiLock, InterProcessMutex, LockLostError, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { answered, once } from '../../lab/proxy/frame-matches.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection } from '../../lab/until.ts';

/** The state of one hold, read while the loss of another hold is reported. */
interface Seen {
  readonly isValid: boolean;
  readonly asserted: unknown;
  readonly isAborted: boolean;
  readonly released: Promise<string>;
}

describe('at the end of a session', () => {
  // One server. A member of an ensemble first reports the deletion of each znode, if another member ended the session.
  const lab = labOfEachTest('session-end', { server: 'own', proxy: true });

  const ends: Record<string, () => Promise<void>> = {
    'the server has ended it': () => lab.endSession(),
    'the client is closed': () => lab.client.close(),
  };

  /** The first listener reads the holds whose listeners run after it. */
  function lookAt(other: Hold): Seen {
    let asserted: unknown;
    try {
      other.assertValid();
    } catch (error) {
      asserted = error;
    }
    return { asserted, isValid: other.isValid, isAborted: other.signal.aborted, released: other.release() };
  }

  for (const [cause, end] of Object.entries(ends)) {
    it(`every hold is lost when the first is told: ${cause}`, async () => {
      const mutexes = ['a', 'b', 'c'].map((name) => new InterProcessMutex(lab.client, testPath(name)));
      const events: string[] = [];
      for (const mutex of mutexes)
        for (const event of ['lost', 'released'] as const) mutex.on(event, () => events.push(event));
      const holds = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
      const seen: Seen[] = [];
      const changes: boolean[] = [];
      lab.client.session.onChange(() =>
        changes.push(...holds.map(({ isValid, loss }) => isValid === (loss === undefined))),
      );
      for (const hold of holds)
        hold.signal.addEventListener('abort', () => seen.push(...holds.filter((other) => other !== hold).map(lookAt)));
      await Promise.all([end(), ...holds.map(({ signal }) => aborted(signal))]);
      expect(changes).to.include(true).and.not.include(false);
      expect(seen).to.have.length(6);
      for (const { isValid, asserted, isAborted, released } of seen) {
        expect({ isValid, isAborted, released: await released }).to.deep.equal({
          isValid: false,
          isAborted: true,
          released: 'lost',
        });
        expect(asserted).to.be.instanceOf(LockLostError);
      }
      expect(events).to.deep.equal(['lost', 'lost', 'lost']);
    });

    it(`withLock rejects with the loss after a listener released: ${cause}`, async () => {
      await using first = await new InterProcessMutex(lab.client, testPath('first')).acquire();
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
    });

    it(`a multi-lock hold is lost as soon as one of its holds is told: ${cause}`, async () => {
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

  it('that is given up when it is free waits for a hold that begins while it asks the servers', async () => {
    await (await lab.mutex.acquire()).release();
    const { session } = lab.client;
    let answer = (): void => undefined;
    once(lab.proxy, answered('sync'), { delayUntil: new Promise<void>((resolve) => (answer = resolve)) });
    session.giveUpWhenFree();
    const hold = await lab.mutex.acquire();
    answer();
    await lab.sleep(200);
    expect([hold.isValid, session.isEnded]).to.deep.equal([true, false]);
    await hold.release();
    await lab.sleep(200);
    expect(session.isEnded).to.equal(true);
  });
});
