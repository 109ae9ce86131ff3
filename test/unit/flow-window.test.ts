import { expect } from 'chai';
import { FlowWindow } from '../../src/zookeeper/connection/flow-window.ts';

/** The longest wait behind other requests is 100 ms. */
const timeoutMs = 2_400;

describe('the window of a connection', () => {
  /** As if the window was always full. */
  function answered(window: FlowWindow, sentAt: number, now: number): void {
    window.answered(sentAt, now, timeoutMs, window.size);
  }

  it('shrinks to what was answered in the longest wait', () => {
    const window = new FlowWindow();
    answered(window, 0, 10);
    expect(window.size).to.equal(129);
    answered(window, 0, 210);
    expect(window.size).to.equal(64);
    answered(window, 210, 420);
    expect(window.size).to.equal(32);
    for (const sentAt of [1_000, 2_000, 3_000]) answered(window, sentAt, sentAt + 900);
    expect(window.size).to.equal(16);
  });

  it('shrinks by the longest wait of all requests that were sent at one size', () => {
    const window = new FlowWindow();
    answered(window, 0, 10);
    answered(window, 0, 111);
    expect(window.size).to.equal(127);
    for (const [waitedMs, size] of [
      [200, 64],
      [150, 64],
      [400, 32],
    ] as const) {
      answered(window, 20, 30 + waitedMs);
      expect(window.size).to.equal(size);
    }
  });

  it('grows to 1,024 at most, because all their answers may be read in one turn of the event loop', () => {
    const window = new FlowWindow();
    for (let answer = 0; answer < 2_000; answer += 1) answered(window, 0, 10);
    expect(window.size).to.equal(1_024);
  });

  it('does not grow by requests that wait behind few others', () => {
    const window = new FlowWindow();
    for (const [inFlight, size] of [
      [1, 128],
      [63, 128],
      [64, 129],
      [64, 129],
      [65, 130],
    ] as const) {
      window.answered(0, 10, timeoutMs, inFlight);
      expect(window.size).to.equal(size);
    }
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
      answered(window, 1_000, 1_000 + tookMs);
      expect(window.size, `${tookMs}`).to.equal(size);
    }
  });
});
