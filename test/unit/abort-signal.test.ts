import { expect } from 'chai';
import { abortHubs, abortReason, listenForAbort, newAborter, throwIfAborted } from '../../src/support/abort-signal.ts';
import { OldSignal } from '../../lab/old-signal.ts';

/** The abort reasons that a listener has received so far. */
function heardOf(signal: AbortSignal): { readonly reasons: unknown[]; readonly stop: () => void } {
  const reasons: unknown[] = [];
  return { reasons, stop: abortHubs.onAbort(signal, (reason) => reasons.push(reason)) };
}

describe('an AbortSignal of any implementation', () => {
  it("without a reason gets Node's reason, otherwise it keeps its own", () => {
    const old = new OldSignal();
    throwIfAborted(undefined);
    throwIfAborted(old.signal);
    old.abort();
    expect(() => throwIfAborted(old.signal))
      .to.throw(DOMException, 'This operation was aborted')
      .with.property('name', 'AbortError');
    const { reason } = AbortSignal.abort() as { reason: Error };
    expect(abortReason(old.signal)).to.have.property('message', reason.message);
    expect(abortReason(AbortSignal.abort('enough'))).to.equal('enough');
  });

  it('is made by the AbortController that the application has put in place of that of Node.js', () => {
    const { AbortController: own } = globalThis;
    globalThis.AbortController = OldSignal;
    try {
      expect(newAborter()).to.be.instanceOf(OldSignal);
    } finally {
      globalThis.AbortController = own;
    }
  });

  it('whose reason cannot be read aborts with the error of the read', () => {
    const broken = new Error('no reason');
    const signal = Object.defineProperty(new OldSignal(), 'reason', {
      get: () => {
        throw broken;
      },
    });
    expect(abortReason(signal.signal)).to.equal(broken);
  });

  it('calls its listener once, although it fires several times', () => {
    const old = new OldSignal();
    const { reasons } = heardOf(old.signal);
    old.abort();
    old.abort();
    expect(reasons).to.have.lengthOf(1);
  });

  it('calls the other listeners, although one was taken back twice', () => {
    const old = new OldSignal();
    const [first, second] = [heardOf(old.signal), heardOf(old.signal)];
    first.stop();
    first.stop();
    old.abort();
    expect([first.reasons.length, second.reasons.length]).to.deep.equal([0, 1]);
  });

  it('that aborts between the check and the subscription calls the listener at once, and keeps no listener', () => {
    const old = new OldSignal();
    old.onListen = () => (old.aborted = true);
    const { reasons, stop } = heardOf(old.signal);
    expect(reasons).to.have.lengthOf(1);
    expect(old.listeners.size).to.equal(0);
    stop();
  });

  it('that cannot be listened to calls the listener at once with the error', () => {
    const broken = new Error('no listeners');
    const old = new OldSignal();
    old.onListen = () => {
      throw broken;
    };
    expect(heardOf(old.signal).reasons).to.deep.equal([broken]);
    const native = AbortSignal.abort('enough');
    expect(heardOf(native).reasons).to.deep.equal(['enough']);
  });

  it('that lets no listener be taken back carries only one for any number of calls, and still notifies the next call', () => {
    const old = new OldSignal();
    Object.defineProperty(old, 'removeEventListener', { value: undefined });
    const over = heardOf(old.signal);
    over.stop();
    for (let call = 0; call < 5; call += 1) heardOf(old.signal).stop();
    const last = heardOf(old.signal);
    expect(old.listeners.size).to.equal(1);
    old.abort();
    expect([over.reasons.length, last.reasons.length]).to.deep.equal([0, 1]);
    expect(heardOf(old.signal).reasons).to.have.lengthOf(1);
  });

  it('keeps no listener after the last call has ended', () => {
    const old = new OldSignal();
    const [first, second] = [heardOf(old.signal), heardOf(old.signal)];
    expect(old.listeners.size).to.equal(1);
    first.stop();
    second.stop();
    expect(old.listeners.size).to.equal(0);
    old.abort();
    expect([...first.reasons, ...second.reasons]).to.deep.equal([]);
    expect(listenForAbort(old.signal, () => undefined)()).to.equal(true);
  });
});
