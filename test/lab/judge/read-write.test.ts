import { expect } from 'chai';
import type { Role } from '../../../lab/judge/history.ts';
import { calm, type Script } from './support/script.ts';

/** c1 holds from 1,000 to 2,000, c2 from 1,500 on. */
function two(first: Role, second: Role, until = 2_000): Script {
  return calm()
    .hold('c1', 'x', { role: first, call: 990, granted: 1_000, until, token: 10 })
    .hold('c2', 'y', { role: second, call: 995, granted: 1_500, until: 1_600, token: 11 });
}

describe('readers and writers in a history', () => {
  it('may read together', () => expect(two('reader', 'reader').findings).to.deep.equal([]));

  it('may follow each other without a gap', () => {
    for (const [first, second] of [
      ['writer', 'reader'],
      ['reader', 'writer'],
      ['writer', 'writer'],
    ] as const)
      expect(two(first, second, 1_500).findings).to.deep.equal([]);
  });

  it('must not be granted while another owner writes', () => {
    expect(two('writer', 'reader').findings).to.deep.equal(['overlaps']);
    expect(two('writer', 'writer').findings).to.deep.equal(['overlaps']);
  });

  it('must not write while another owner reads', () =>
    expect(two('reader', 'writer').findings).to.deep.equal(['overlaps']));

  it('must not write while the first of several readers still reads', () => {
    const script = two('reader', 'reader').hold('c2', 'w', {
      role: 'writer',
      call: 1_000,
      granted: 1_700,
      until: 1_800,
      token: 12,
    });
    expect(script.findings).to.deep.equal(['overlaps']);
  });

  it('must not be granted together with an owner of a mutex', () => {
    expect(two('reader', 'owner').findings).to.deep.equal(['overlaps']);
    expect(two('reader', 'lease').findings).to.deep.equal(['overlaps']);
  });

  it('no longer count as writers once the session is lost', () => {
    const lost = (t: number): string[] =>
      calm()
        .fault('silent-link', 'c1', 900, 9_000)
        .hold('c1', 'x', { role: 'writer', call: 990, granted: 1_000, token: 10 })
        .lose('c1', 'x', t)
        .hold('c2', 'y', { role: 'reader', call: 995, granted: 4_000, until: 4_100, token: 11 }).findings;
    expect(lost(3_999)).to.deep.equal([]);
    expect(lost(4_001)).to.deep.equal(['overlaps']);
  });
});

describe('a writer that downgrades to reading in a history', () => {
  /** Writes from 1,000 to 2,000, and reads from 1,500 to 3,000. */
  const downgraded = (token: number): Script =>
    calm()
      .hold('c1', 'w', {
        role: 'writer',
        kind: 'downgrade',
        call: 990,
        granted: 1_000,
        until: 2_000,
        token: 10,
        flow: 'w',
      })
      .hold('c1', 'r', {
        role: 'reader',
        kind: 'downgrade',
        call: 1_500,
        granted: 1_501,
        until: 3_000,
        token,
        znode: '/a/read-11',
        flow: 'w',
      });

  it('is one owner, and keeps the token', () => expect(downgraded(10).findings).to.deep.equal([]));

  it('must not get another token', () => {
    expect(downgraded(11).findings).to.deep.equal(['tokens']);
    expect(downgraded(9).findings).to.deep.equal(['tokens']);
  });

  it('must exclude writers, but not readers', () => {
    const withNext = (role: Role): string[] =>
      downgraded(10).hold('c2', 'y', { role, call: 995, granted: 2_500, until: 2_600, token: 12 }).findings;
    expect(withNext('writer')).to.deep.equal(['overlaps']);
    expect(withNext('reader')).to.deep.equal([]);
  });

  it('must have the same flow', () => {
    const script = calm()
      .hold('c1', 'w', { role: 'writer', call: 990, granted: 1_000, until: 2_000, token: 10 })
      .hold('c1', 'r', { role: 'reader', call: 1_500, granted: 1_501, until: 3_000, token: 11 });
    expect(script.findings).to.deep.equal(['overlaps']);
  });

  it('has no right to the token after its release', () => {
    const later = (token: number): string[] =>
      calm()
        .hold('c1', 'w', { role: 'writer', call: 990, granted: 1_000, until: 2_000, token: 10, flow: 'w' })
        .hold('c1', 'r', {
          role: 'reader',
          call: 2_100,
          granted: 2_101,
          until: 3_000,
          token,
          znode: '/a/read-11',
          flow: 'w',
        }).findings;
    expect(later(11)).to.deep.equal([]);
    expect(later(10)).to.deep.equal(['tokens']);
  });

  it('has no right to the token after its loss, but at the time of the loss', () => {
    const called = (call: number, token: number): string[] =>
      calm()
        .fault('silent-link', 'c1', 900, 9_000)
        .hold('c1', 'w', { role: 'writer', call: 990, granted: 1_000, token: 10, flow: 'w' })
        .own('c1', 'w', 1_400, { type: 'lost', reason: 'session-deadline' })
        .hold('c1', 'r', {
          role: 'reader',
          call,
          granted: 1_451,
          until: 1_500,
          token,
          znode: '/a/read-11',
          flow: 'w',
        })
        .release('c1', 'w', 1_600, 'lost').findings;
    expect(called(1_450, 11)).to.deep.equal([]);
    expect(called(1_450, 10)).to.deep.equal(['tokens']);
    expect(called(1_400, 10)).to.deep.equal([]);
  });

  it('has no right to the token before it writes', () => {
    const script = calm()
      .hold('c1', 'r', { role: 'reader', call: 990, granted: 1_000, until: 1_100, token: 10, flow: 'f' })
      .hold('c1', 'w', { role: 'writer', call: 1_200, granted: 1_201, until: 1_300, token: 11, flow: 'f' });
    expect(script.findings).to.deep.equal([]);
  });

  it('is not a downgrade if it writes once more', () => {
    const script = calm()
      .hold('c1', 'x', { role: 'writer', call: 990, granted: 1_000, until: 4_000, token: 10, flow: 'x' }) // writes at 2,500
      .hold('c1', 'x2', { role: 'writer', call: 2_300, granted: 2_400, until: 2_800, token: 11, flow: 'x' });
    expect(script.findings).to.deep.equal([]);
  });
});

describe('tokens of readers and writers in a history', () => {
  const roles = (first: Role, token: number, second: Role, next: number): string[] =>
    calm()
      .hold('c1', 'x', { role: first, call: 990, granted: 1_000, token, znode: '/a/first' })
      .release('c1', 'x', 1_500)
      .hold('c2', 'y', { role: second, call: 995, granted: 1_600, token: next, znode: '/a/second' })
      .release('c2', 'y', 1_700).findings;

  it('are fencing tokens for writers: each is larger than all before it', () => {
    expect(roles('writer', 10, 'writer', 11)).to.deep.equal([]);
    expect(roles('writer', 11, 'writer', 10)).to.deep.equal(['tokens']);
    expect(roles('reader', 11, 'writer', 10)).to.deep.equal(['tokens']);
  });

  it('of readers are larger than those of the writers before them', () => {
    expect(roles('writer', 10, 'reader', 11)).to.deep.equal([]);
    expect(roles('writer', 11, 'reader', 10)).to.deep.equal(['tokens']);
    expect(roles('writer', 11, 'reader', 11)).to.deep.equal(['tokens']);
  });

  it('of readers are identifiers, in any order', () => {
    expect(roles('reader', 11, 'reader', 10)).to.deep.equal([]);
    const twins = calm()
      .hold('c1', 'x', { role: 'reader', call: 990, granted: 1_000, until: 1_500, token: 10, znode: '/a/one' })
      .hold('c2', 'y', { role: 'reader', call: 990, granted: 1_001, until: 1_500, token: 10, znode: '/a/other' });
    expect(twins.findings).to.deep.equal(['tokens']);
  });
});

describe('the order of readers and writers of one process in a history', () => {
  /** Called one after the other, and granted in the reverse order. */
  const swapped = (first: Role, second: Role): string[] =>
    calm()
      .hold('c1', 'y', { role: second, call: 1_001, granted: 1_100, until: 1_200, token: 10 })
      .hold('c1', 'x', { role: first, call: 1_000, granted: 1_300, until: 1_400, token: 11 }).findings;

  it('is the order of their calls, except for two readers', () => {
    expect(swapped('reader', 'reader')).to.deep.equal([]);
    expect(swapped('writer', 'reader')).to.deep.equal(['order']);
    expect(swapped('reader', 'writer')).to.deep.equal(['order']);
    expect(swapped('writer', 'writer')).to.deep.equal(['order']);
  });
});
