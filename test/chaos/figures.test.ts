import { expect } from 'chai';
import { figuresOf } from '../../chaos/checks/figures.ts';
import { table } from '../../chaos/checks/report.ts';
import { calm, type Script } from '../lab/judge/support/script.ts';

describe('the figures of a history', () => {
  it('count the events', () => {
    const script = calm()
      .fault('kill-leader', '127.0.0.1:1', 900, 950, ['c1', 'c2'])
      .fault('kill-leader', '127.0.0.1:1', 2_900, 2_950, ['c1', 'c2'])
      .fault('cut-link', 'c1', 4_900, 4_950)
      .hold('c1', 'x', { call: 5_000, granted: 5_001, until: 5_100, token: 10 })
      .hold('c1', 'inner', { call: 5_010, granted: 5_011, until: 5_090, token: 10, flow: 'x', kind: 're-entrant' })
      .own('c2', 'try', 5_020, { type: 'call', path: '/a', kind: 'try', flow: 'try' })
      .own('c2', 'try', 5_021, { type: 'refused', outcome: 'none' })
      .say(5_200, { type: 'register', path: '/a', write: 'unknown', token: '1', accepted: false, largest: '10' });
    expect(figuresOf(script.history)).to.deep.include({
      grants: 5,
      reEntries: 1,
      refusals: 1,
      losses: {},
      writesAccepted: 5,
      writesRefused: 1,
      faults: { 'kill-leader': 2, 'cut-link': 1 },
    });
  });

  it('count the grants to a process that has held nothing for 1.5 session timeouts', () => {
    const script = calm();
    const { sessionTimeoutMs } = script.history.run;
    const hold = (id: string, granted: number, token: number): void =>
      void script.hold('c1', id, { call: granted - 1, granted, until: granted + 10, token });
    const released = 20_000;
    hold('after a rest', released - 10, 10);
    hold('too early', released + 1.5 * sessionTimeoutMs - 11, 11);
    hold('after a second rest', released + 3 * sessionTimeoutMs, 12);
    expect(figuresOf(script.history).afterRest).to.equal(2);
  });

  it('count owners that hold a path together, and writers that downgrade to reading', () => {
    const script = calm({ '/b': 3 });
    for (const id of ['x', 'y', 'z'])
      script.hold('c1', id, { role: 'reader', call: 990, granted: 1_000, until: 2_000, token: id.charCodeAt(0) });
    for (const id of ['u', 'v'])
      script.hold('c2', id, {
        path: '/b',
        role: 'lease',
        call: 990,
        granted: 1_000,
        until: 2_000,
        token: id.charCodeAt(0),
      });
    script.hold('c1', 'w', {
      role: 'writer',
      kind: 'downgrade',
      call: 2_990,
      granted: 3_000,
      until: 3_100,
      token: 200,
    });
    script.hold('c1', 'r', {
      role: 'reader',
      kind: 'downgrade',
      call: 3_050,
      granted: 3_051,
      until: 3_200,
      token: 200,
      znode: '/a/r',
      flow: 'w',
    });
    expect(script.findings).to.deep.equal([]);
    expect(figuresOf(script.history)).to.deep.include({ readersTogether: 3, leasesTogether: 2, downgrades: 1 });
  });

  it('have no margin if no grant waited for the loss', () => {
    const lost = (next: 'reader' | 'writer'): Script =>
      calm()
        .fault('silent-link', 'c1', 900, 5_000)
        .hold('c1', 'x', { role: 'reader', call: 990, granted: 1_000, token: 10 })
        .lose('c1', 'x', 4_000)
        .hold('c2', 'y', { role: next, call: 995, granted: 4_300, until: 4_500, token: 11 });
    expect(figuresOf(lost('writer').history).smallestMarginMs).to.equal(300);
    expect(figuresOf(lost('reader').history).smallestMarginMs).to.equal(undefined);
  });

  it('have the smallest margin between the notice of a loss and the next grant, for running code', () => {
    const script = calm()
      .fault('silent-link', 'c1', 900, 5_000)
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .lose('c1', 'x', 4_000)
      .hold('c2', 'y', { call: 995, granted: 4_400, until: 4_500, token: 11 })
      .hold('c1', 'z', { call: 5_990, granted: 6_000, token: 12 })
      .lose('c1', 'z', 7_000)
      .hold('c2', 'u', { call: 5_995, granted: 7_250, until: 7_300, token: 13 })
      // A stopped process could not learn of the loss in time.
      .hold('c1', 'v', { call: 9_990, granted: 10_000, token: 14 })
      .fault('stop-client', 'c1', 10_010, 20_000)
      .hold('c2', 'w', { call: 9_995, granted: 15_000, until: 15_100, token: 15 })
      .lose('c1', 'v', 20_001);
    expect(script.findings).to.deep.equal([]);
    expect(figuresOf(script.history)).to.deep.include({
      losses: { 'session-deadline': 3 },
      smallestMarginMs: 250,
      slowestNewsMs: undefined,
    });
  });

  it('have a negative margin if the holder learned of its loss too late', () => {
    const script = calm()
      .fault('silent-link', 'c1', 900, 5_000)
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .lose('c1', 'x', 4_000);
    expect(
      figuresOf(script.hold('c2', 'y', { call: 995, granted: 3_900, until: 4_500, token: 11 }).history),
    ).to.deep.include({ smallestMarginMs: -100 });
  });

  it('count no notice for a closed session whose hold was already lost', () => {
    const script = calm()
      .fault('silent-link', 'c1', 900, 5_000)
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .lose('c1', 'x', 4_000);
    expect(figuresOf(script.fault('close-session', 'c1', 9_000, 9_005).history)).to.deep.include({
      slowestNewsMs: undefined,
    });
  });

  it('have the slowest notice of a deletion', () => {
    const script = calm()
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .fault('delete-znode', '/a/lock-10', 1_100, 1_101, ['c1', 'c2'])
      .lose('c1', 'x', 1_130, 'node-deleted')
      .hold('c2', 'y', { call: 1_990, granted: 2_000, token: 11 })
      .fault('close-session', 'c2', 2_100, 2_105)
      .lose('c2', 'y', 2_140, 'session-expired');
    expect(figuresOf(script.history)).to.deep.include({
      losses: { 'node-deleted': 1, 'session-expired': 1 },
      slowestNewsMs: 40,
      smallestMarginMs: undefined,
    });
  });

  it('are printed as a table', () => {
    const lines = table(figuresOf(calm().fault('cut-link', 'c1', 900, 901).history))
      .split('\n')
      .map((line) => line.trim());
    expect(lines).to.include.members(['grants  3', 'longest time without progress  -', 'cut-link  1']);
  });
});
