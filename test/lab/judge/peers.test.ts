import { expect } from 'chai';
import { figuresOf } from '../../../chaos/checks/figures.ts';
import { Script, sessionTimeoutMs } from './support/script.ts';

const windowMs = sessionTimeoutMs + 2_000;

/**
 * One client of this library and two peers. Each held a lock once in the first second, and all leave after a minute.
 */
function mixed(leases: Readonly<Record<string, number>> = {}): Script {
  return new Script(['c1', 'j1', 'j2'], ['/a', '/b'], leases, ['j1', 'j2'])
    .hold('c1', 'c1-first', { call: 10, granted: 20, until: 30, token: 1 })
    .hold('c1', 'c1-other', { path: '/b', call: 20, granted: 30, until: 60, token: 3 })
    .peer('j1', 'j1-first', { call: 10, granted: 40, looks: [41], until: 50, token: 2 })
    .peer('j2', 'j2-first', { call: 10, granted: 60, looks: [61], until: 70, token: 4 })
    .end(60_000);
}

describe('a peer in a history', () => {
  it('takes turns with clients of this library', () => expect(mixed().findings).to.deep.equal([]));

  it('must not be granted while a hold of this library is valid', () => {
    const released = (t: number): string[] =>
      mixed()
        .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
        .release('c1', 'x', t)
        .peer('j1', 'y', { call: 995, granted: 2_000, looks: [2_001], until: 2_100, token: 11 }).findings;
    expect(released(2_000)).to.deep.equal([]);
    expect(released(2_001)).to.deep.equal(['overlaps']);
  });

  it('must not be granted before a client of this library learns of its loss', () => {
    const told = (t: number): string[] =>
      mixed()
        .fault('silent-link', 'c1', 900, 5_000)
        .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
        .lose('c1', 'x', t)
        .peer('j1', 'y', { call: 995, granted: 4_000, looks: [4_001], until: 4_100, token: 11 }).findings;
    expect(told(3_999)).to.deep.equal([]);
    expect(told(4_001)).to.deep.equal(['overlaps']);
  });

  it("must not meet a grant of this library while the servers confirm the peer's znode", () => {
    const looking = (...looks: readonly number[]): string[] =>
      mixed()
        .peer('j1', 'y', { call: 990, granted: 1_000, looks, until: 3_000, token: 10 })
        .hold('c1', 'x', { call: 995, granted: 2_000, until: 2_100, token: 11 }).findings;
    expect(looking(1_001, 2_001)).to.deep.equal(['overlaps']);
    expect(looking(1_001, 1_999)).to.deep.equal([]);
  });

  it('may believe in its lock for any time, and may learn late of its loss', () => {
    const script = mixed()
      .peer('j1', 'y', { call: 990, granted: 1_000, looks: [1_001, 1_999], token: 10 })
      .hold('c1', 'x', { call: 995, granted: 2_000, until: 2_100, token: 11 });
    script.look('j1', 'y', 9_000, false).own('j1', 'y', 9_001, { type: 'released', outcome: 'lost' });
    expect(script.findings).to.deep.equal([]);
  });

  it('claims nothing for a znode that is not confirmed, or no longer confirmed', () => {
    const script = mixed().peer('j1', 'y', { call: 990, granted: 1_000, looks: [1_001], until: 5_000, token: 10 });
    script.look('j1', 'y', 1_500, false).hold('c1', 'x', { call: 995, granted: 1_200, until: 1_300, token: 11 });
    expect(script.findings).to.deep.equal([]);
  });

  it('claims nothing after it was stopped, so a client of this library may hold the lock then', () => {
    const script = mixed()
      .fault('stop-client', 'j1', 1_100, 9_000)
      .peer('j1', 'y', { call: 990, granted: 1_000, looks: [1_001], until: 9_100, token: 10 });
    expect(script.hold('c1', 'x', { call: 995, granted: 6_000, until: 6_100, token: 11 }).findings).to.deep.equal([]);
  });

  it('is not checked against another peer', () => {
    const script = mixed({ '/b': 1 })
      .peer('j1', 'x', { call: 990, granted: 1_000, looks: [1_900], until: 2_000, token: 11 })
      .peer('j2', 'y', { call: 995, granted: 1_500, looks: [1_600], until: 1_700, token: 10 })
      .peer('j1', 'u', {
        path: '/b',
        role: 'lease',
        call: 990,
        granted: 1_000,
        looks: [1_900],
        until: 2_000,
        token: 12,
      })
      .peer('j2', 'v', {
        path: '/b',
        role: 'lease',
        call: 995,
        granted: 1_500,
        looks: [1_600],
        until: 1_700,
        token: 13,
      });
    expect(script.findings).to.deep.equal([]);
  });

  it('must not write while this library reads, nor read while this library writes', () => {
    const beside = (ours: 'reader' | 'writer', theirs: 'reader' | 'writer'): string[] =>
      mixed()
        .hold('c1', 'x', { role: ours, call: 990, granted: 1_000, until: 2_000, token: 10 })
        .peer('j1', 'y', { role: theirs, call: 995, granted: 1_500, looks: [1_501], until: 1_600, token: 11 }).findings;
    expect(beside('reader', 'reader')).to.deep.equal([]);
    expect(beside('reader', 'writer')).to.deep.equal(['overlaps']);
    expect(beside('writer', 'reader')).to.deep.equal(['overlaps']);
  });

  it('has leases that count together with those of this library', () => {
    const beside = (looks: readonly number[]): string[] =>
      mixed({ '/b': 2 })
        .peer('j1', 'x', { path: '/b', role: 'lease', call: 990, granted: 1_000, looks, until: 2_000, token: 10 })
        .peer('j2', 'y', { path: '/b', role: 'lease', call: 990, granted: 1_001, looks, until: 2_000, token: 11 })
        .hold('c1', 'z', { path: '/b', role: 'lease', call: 995, granted: 1_500, until: 1_600, token: 12 }).findings;
    expect(beside([1_100])).to.deep.equal([]);
    expect(beside([1_501])).to.deep.equal(['leases']);
  });

  it('has tokens that are compared with those of this library', () => {
    const after = (token: number): string[] =>
      mixed()
        .hold('c1', 'x', { call: 990, granted: 1_000, until: 1_100, token: 20 })
        .peer('j1', 'y', { call: 995, granted: 1_200, looks: [1_201], until: 1_300, token }).findings;
    expect(after(21)).to.deep.equal([]);
    expect(after(19)).to.deep.equal(['tokens']);
  });

  it('counts as the next owner if a client of this library writes with an older token', () => {
    const script = mixed()
      .fault('stop-client', 'c1', 1_150, 6_500)
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .peer('j1', 'y', { call: 995, granted: 6_000, looks: [6_001], until: 6_100, token: 11 })
      .write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 6_600 })
      .lose('c1', 'x', 6_610);
    expect(script.findings).to.deep.equal(['overlaps', 'register']);
  });

  it('is not asked why it failed, why it was slow, in which order it called, or why it did not leave', () => {
    const script = mixed()
      .own('j1', 'failed', 1_000, { type: 'call', path: '/a', kind: 'timed', flow: 'failed', timeoutMs: 10 })
      .own('j1', 'failed', 20_000, { type: 'refused', outcome: 'error', error: 'ConnectionLossException' })
      .own('j1', 'open', 1_000, { type: 'call', path: '/a', kind: 'timed', flow: 'open', timeoutMs: 10 })
      .peer('j1', 'second', { call: 30_001, granted: 30_100, looks: [30_101], until: 30_200, token: 20 })
      .peer('j1', 'first', { call: 30_000, granted: 30_300, looks: [30_301], until: 30_400, token: 21 });
    expect(script.without((event) => event.type === 'left' && event.client === 'j1').findings).to.deep.equal([]);
  });

  it('must have been granted at least once, or it was not tested', () => {
    expect(mixed().without((event) => 'id' in event && event.client === 'j2').findings).to.deep.equal([
      'run-without-grants',
    ]);
  });

  it('is counted in the figures', () => {
    const { grants, grantsOfPeers, handOversWithPeers } = figuresOf(mixed().history);
    expect({ grants, grantsOfPeers, handOversWithPeers }).to.deep.equal({
      grants: 4,
      grantsOfPeers: 2,
      handOversWithPeers: 1,
    });
  });
});

describe('after a fault was healed, with peers', () => {
  const healed = 10_000;
  const shaken = (): Script => mixed().fault('kill-leader', '127.0.0.1:1', 8_000, healed, ['c1', 'j1', 'j2']);

  it('a path must make progress even if a peer held it', () => {
    const script = (granted: number): Script =>
      shaken()
        .peer('j1', 'y', { call: 7_000, granted: 7_001, looks: [7_002], until: healed + 1_000, token: 10 })
        .hold('c1', 'x', { call: 9_000, granted, until: granted + 1, token: 11 });
    expect(script(healed + 1_000 + windowMs).findings).to.deep.equal([]);
    expect(script(healed + 1_001 + windowMs).findings).to.deep.equal(['progress']);
  });

  it('a path need not make progress while a peer goes on, confirmed or not', () => {
    const script = shaken().peer('j1', 'y', {
      call: 7_000,
      granted: 7_001,
      looks: [7_002],
      until: healed + 20_000,
      token: 10,
    });
    expect(
      script.hold('c1', 'x', { call: 9_000, granted: healed + 20_001, until: healed + 20_002, token: 11 }).findings,
    ).to.deep.equal([]);
  });

  it('a path need not make progress for a waiting peer', () => {
    const script = shaken().peer('j1', 'y', {
      call: 9_000,
      granted: healed + 20_000,
      looks: [healed + 20_001],
      until: healed + 20_002,
      token: 10,
    });
    expect(script.findings).to.deep.equal([]);
  });
});

describe('a history in which a path is never granted', () => {
  it('tests nothing of that path', () => {
    expect(mixed().without((event) => 'id' in event && event.id === 'c1-other').findings).to.deep.equal([
      'run-without-grants',
    ]);
  });
});
