import { expect } from 'chai';
import { calm, sessionTimeoutMs, type Script } from '../lab/judge/support/script.ts';

function called(t = 1_000): Script {
  return calm().own('c1', 'x', t, { type: 'call', path: '/a', kind: 'plain', flow: 'x' });
}

describe('promises in a history', () => {
  it('must settle', () => expect(called().findings).to.deep.equal(['settled']));

  it('may settle with a refusal', () =>
    expect(called().own('c1', 'x', 1_001, { type: 'refused', outcome: 'aborted' }).findings).to.deep.equal([]));

  it('must be released once they are granted', () => {
    // No other owner is granted the lock afterwards, so nothing overlaps.
    expect(calm().hold('c1', 'x', { call: 1_000, granted: 1_001, token: 10 }).findings).to.deep.equal(['settled']);
    expect(
      calm()
        .hold('c1', 'x', { call: 1_000, granted: 1_001, token: 10 })
        .own('c1', 'x', 1_100, { type: 'releasing', valid: true }).findings,
    ).to.deep.equal(['settled']);
  });

  it('need not settle in a killed process', () => {
    expect(
      called().fault('kill-client', 'c1', 1_100, 1_200).say(1_300, { type: 'started', client: 'c1', incarnation: 2 })
        .findings,
    ).to.deep.equal([]);
    expect(
      called()
        .without(({ type }) => type === 'left')
        .fault('kill-client', 'c1', 1_100, 1_200)
        .say(60_000, { type: 'left', client: 'c2' }).findings,
    ).to.deep.equal([]);
  });

  it('must settle if another process was killed', () => {
    // So late that no other event is missing afterwards.
    const script = called(59_000)
      .fault('kill-client', 'c2', 59_100, 59_200)
      .say(59_300, { type: 'started', client: 'c2', incarnation: 2 });
    expect(script.findings).to.deep.equal(['settled']);
  });

  it('of a restarted process must settle', () => {
    const script = calm()
      .fault('kill-client', 'c1', 1_100, 1_200)
      .say(1_300, { type: 'started', client: 'c1', incarnation: 2 });
    expect(script.own('c1', 'x', 2_000, { type: 'call', path: '/a', kind: 'plain', flow: 'x' }).findings).to.deep.equal(
      ['settled'],
    );
  });

  it('settle at their timeout, or not much later', () => {
    const refusedAfter = (t: number, kind = 'silent-link'): string[] =>
      calm()
        .fault(kind, 'c1', 1_100, 1_200)
        .own('c1', 'x', 1_000, { type: 'call', path: '/a', kind: 'timed', flow: 'x', timeoutMs: 500 })
        .own('c1', 'x', 1_500 + t, { type: 'refused', outcome: 'none' }).findings;
    expect(refusedAfter(sessionTimeoutMs)).to.deep.equal([]);
    expect(refusedAfter(sessionTimeoutMs + 1)).to.deep.equal(['settled']);
    expect(refusedAfter(sessionTimeoutMs + 1, 'stop-client')).to.deep.equal([]);
    const granted = calm().hold('c1', 'x', {
      call: 1_000,
      timeoutMs: 500,
      granted: 6_000,
      until: 6_100,
      token: 10,
      kind: 'timed',
    });
    expect(granted.findings).to.deep.equal(['settled']);
  });
});

describe('a process in a history', () => {
  it('must end', () => {
    expect(calm().without((event) => event.type === 'left' && event.client === 'c1').findings).to.deep.equal([
      'settled',
    ]);
  });

  it('must not die by itself; its promises are not reported one by one', () => {
    const script = called().say(1_300, { type: 'started', client: 'c1', incarnation: 2 });
    expect(script.findings).to.deep.equal(['settled']);
  });
});
