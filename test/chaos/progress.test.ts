import { expect } from 'chai';
import { figuresOf } from '../../chaos/checks/figures.ts';
import { calm, sessionTimeoutMs, type Script } from '../lab/judge/support/script.ts';

const windowMs = sessionTimeoutMs + 2_000;
const healed = 10_000;

/** A fault is healed at 10,000. c2 waits on a path from 9,000 to `granted`. */
function waitingUntil(granted: number): Script {
  return calm()
    .fault('kill-leader', '127.0.0.1:1', 8_000, healed, ['c1', 'c2'])
    .hold('c2', 'w', { call: 9_000, granted, until: granted + 10, token: 20 });
}

describe('after a fault was healed', () => {
  it('the next waiter is granted in time', () => {
    const script = waitingUntil(healed + windowMs);
    expect(script.findings).to.deep.equal([]);
    expect(figuresOf(script.history).longestStandstillMs).to.equal(windowMs);
  });

  it('a path with waiters must make progress', () =>
    expect(waitingUntil(healed + windowMs + 1).findings).to.deep.equal(['progress']));

  it('a path without waiters need not make progress', () => {
    const script = calm().fault('kill-leader', '127.0.0.1:1', 8_000, healed, ['c1', 'c2']);
    expect(script.findings).to.deep.equal([]);
    const later = script.hold('c2', 'later', {
      call: healed + 1_000,
      granted: healed + 1_001,
      until: healed + 1_002,
      token: 20,
    });
    expect(figuresOf(later.history).longestStandstillMs).to.equal(undefined);
  });

  it('a path need not make progress for a waiter that gives up', () => {
    const script = calm().fault('kill-leader', '127.0.0.1:1', 8_000, healed, ['c1', 'c2']);
    script
      .own('c2', 'w', 9_000, { type: 'call', path: '/a', kind: 'timed', flow: 'w' })
      .own('c2', 'w', healed + windowMs, { type: 'refused', outcome: 'none' });
    expect(script.findings).to.deep.equal([]);
  });

  it('a path must make progress for a waiter that gives up later', () => {
    const script = calm().fault('kill-leader', '127.0.0.1:1', 8_000, healed, ['c1', 'c2']);
    script
      .own('c2', 'w', 9_000, { type: 'call', path: '/a', kind: 'timed', flow: 'w' })
      .own('c2', 'w', healed + windowMs + 1, { type: 'refused', outcome: 'none' });
    expect(script.findings).to.deep.equal(['progress']);
  });

  it('a grant on another path is no progress', () => {
    for (const [path, other] of [
      ['/a', '/b'],
      ['/b', '/a'],
    ] as const) {
      const late = healed + windowMs + 1;
      const script = calm()
        .fault('kill-leader', '127.0.0.1:1', 8_000, healed, ['c1', 'c2'])
        .hold('c2', 'w', { path, call: 9_000, granted: late, until: late + 10, token: 20 });
      expect(
        script.hold('c1', 'o', { path: other, call: 11_000, granted: 11_001, until: 11_002, token: 19 }).findings,
      ).to.deep.equal(['progress']);
    }
  });

  it('one more grant is progress, even if other waiters still wait', () => {
    const script = waitingUntil(healed + windowMs + 1).hold('c1', 'o', {
      call: 11_000,
      granted: 11_001,
      until: 11_002,
      token: 19,
    });
    expect(script.findings).to.deep.equal([]);
  });

  it('a long job may take its time, and the next waiter has the full time after that', () => {
    const long = (until: number, granted: number): Script =>
      waitingUntil(granted).hold('c1', 'long', { call: 7_000, granted: 7_001, until, token: 19, kind: 'long' });
    expect(long(healed + 10_000, healed + 10_001).findings).to.deep.equal([]);
    expect(long(healed + 10_000, healed + 10_000 + windowMs).findings).to.deep.equal([]);
    expect(long(healed + 10_000, healed + 10_000 + windowMs + 1).findings).to.deep.equal(['progress']);
  });

  it('a re-entry prolongs a job', () => {
    const script = waitingUntil(healed + 12_001).hold('c1', 'long', {
      call: 7_000,
      granted: 7_001,
      until: healed + 1_000,
      token: 19,
    });
    script.hold('c1', 'inner', {
      call: healed + 500,
      granted: healed + 500,
      until: healed + 12_000,
      token: 19,
      flow: 'long',
    });
    expect(script.findings).to.deep.equal([]);
  });

  it('a job on another path is no excuse', () => {
    const script = waitingUntil(healed + windowMs + 1).hold('c1', 'long', {
      path: '/b',
      call: 7_000,
      granted: 7_001,
      until: healed + 9_000,
      token: 19,
    });
    expect(script.findings).to.deep.equal(['progress']);
  });

  it('another fault, or a fault that is not yet over, is an excuse', () => {
    const shaken = waitingUntil(healed + windowMs + 1).fault('cut-link', 'c1', healed + 5_000, healed + 5_001);
    expect(shaken.findings).to.deep.equal([]);
    // The time counts from the last fault on, if at all.
    expect(figuresOf(shaken.history).longestStandstillMs).to.equal(windowMs - 5_000);
    expect(
      waitingUntil(healed + 1_000 + windowMs).fault('cut-link', 'c1', 9_500, healed + 1_000).findings,
    ).to.deep.equal([]);
    expect(
      waitingUntil(healed + 1_001 + windowMs).fault('cut-link', 'c1', 9_500, healed + 1_000).findings,
    ).to.deep.equal(['progress']);
  });

  it('a killed client waits no longer', () => {
    const script = calm().own('c2', 'w', 6_000, { type: 'call', path: '/a', kind: 'plain', flow: 'w' });
    script
      .fault('kill-client', 'c2', 8_000, healed)
      .say(healed + 100, { type: 'started', client: 'c2', incarnation: 2 });
    expect(script.findings).to.deep.equal([]);
  });

  it('a client that has left waits no longer', () => {
    const script = calm()
      .without((event) => event.type === 'left' && event.client === 'c2')
      .say(healed + 500, { type: 'left', client: 'c2' });
    script
      .own('c2', 'w', 6_000, { type: 'call', path: '/a', kind: 'plain', flow: 'w' })
      .fault('cut-link', 'c1', 8_000, healed);
    expect(script.findings).to.deep.equal(['settled']);
  });

  it('a client that died waits no longer', () => {
    const script = calm()
      .own('c2', 'w', 6_000, { type: 'call', path: '/a', kind: 'plain', flow: 'w' })
      .fault('cut-link', 'c1', 8_000, healed);
    expect(script.say(9_000, { type: 'started', client: 'c2', incarnation: 2 }).findings).to.deep.equal(['settled']);
  });
});
