import { expect } from 'chai';
import { FlowWindow } from '../../src/zookeeper/flow-window.ts';

/** The longest wait behind other requests is 100 ms. */
const timeoutMs = 2_400;

describe('the window of a connection', () => {
  it('shrinks to what was answered in the longest wait, once for all requests that were sent before', () => {
    const window = new FlowWindow();
    window.answered(0, 10, timeoutMs);
    expect(window.size).to.equal(129);
    window.answered(0, 210, timeoutMs);
    expect(window.size).to.equal(64);
    window.answered(209, 500, timeoutMs);
    expect(window.size).to.equal(64);
    window.answered(500, 710, timeoutMs);
    expect(window.size).to.equal(32);
    for (const sentAt of [1_000, 2_000, 3_000]) window.answered(sentAt, sentAt + 900, timeoutMs);
    expect(window.size).to.equal(16);
  });

  it('grows by each request that waits for less than half of that, whatever the round trip', () => {
    const window = new FlowWindow();
    for (const [tookMs, size] of [
      [300, 129],
      [349, 130],
      [350, 130],
      [400, 130],
      [401, 128],
    ] as const) {
      window.answered(1_000, 1_000 + tookMs, timeoutMs);
      expect(window.size, `${tookMs}`).to.equal(size);
    }
  });
});
