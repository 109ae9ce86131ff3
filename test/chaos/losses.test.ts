import { expect } from 'chai';
import { calm, sessionTimeoutMs, type Script } from '../lab/judge/support/script.ts';

const reachMs = 2 * sessionTimeoutMs + 2_000;

function lostAt(t: number, reason?: string): Script {
  return calm().hold('c1', 'x', { call: 990, granted: 1_000, token: 10 }).lose('c1', 'x', t, reason);
}

function failedAt(t: number): Script {
  return calm()
    .own('c1', 'x', t - 10, { type: 'call', path: '/a', kind: 'plain', flow: 'x' })
    .own('c1', 'x', t, { type: 'refused', outcome: 'error', error: 'ERR_LOCK_REQUEST_FAILED' });
}

for (const [what, made] of [
  ['a loss', lostAt],
  ['a failure', failedAt],
] as const)
  describe(`${what} in a history`, () => {
    it('needs a fault', () => expect(made(20_000).findings).to.deep.equal(['losses']));

    it('may happen during a fault, and for a while after it', () => {
      expect(made(20_000).fault('silent-link', 'c1', 19_000, 25_000).findings).to.deep.equal([]);
      expect(made(20_000).fault('silent-link', 'c1', 2_000, 20_000 - reachMs).findings).to.deep.equal([]);
    });

    it('must not happen before a fault, or long after it', () => {
      expect(made(20_000).fault('silent-link', 'c1', 20_001, 25_000).findings).to.deep.equal(['losses']);
      expect(made(20_000).fault('silent-link', 'c1', 2_000, 20_000 - reachMs - 1).findings).to.deep.equal(['losses']);
    });

    it('is not explained by the fault of another client', () => {
      expect(made(20_000).fault('silent-link', 'c2', 19_000, 25_000).findings).to.deep.equal(['losses']);
      expect(made(20_000).fault('kill-leader', '127.0.0.1:1', 19_000, 25_000, ['c1', 'c2']).findings).to.deep.equal([]);
    });
  });

describe('a loss in a history', () => {
  it('is explained by a deletion only if its own znode was deleted', () => {
    expect(
      lostAt(20_000, 'node-deleted').fault('delete-znode', '/a/lock-10', 19_990, 19_991, ['c1', 'c2']).findings,
    ).to.deep.equal([]);
    expect(
      lostAt(20_000, 'node-deleted').fault('delete-znode', '/a/lock-11', 19_990, 19_991, ['c1', 'c2']).findings,
    ).to.deep.equal(['losses']);
  });

  it('of a deleted znode explains why its own flow is refused', () => {
    const refused = (flow: string): string[] =>
      lostAt(20_000, 'node-deleted')
        .fault('delete-znode', '/a/lock-10', 19_990, 19_991, ['c1', 'c2'])
        .own('c1', 'y', 20_000, { type: 'call', path: '/a', kind: 're-entrant', flow })
        .own('c1', 'y', 20_001, { type: 'refused', outcome: 'error', error: 'ERR_LOCK_LOST' }).findings;
    expect(refused('x')).to.deep.equal([]);
    expect(refused('y')).to.deep.equal(['losses']);
  });

  it('needs no fault if the client was closed and left', () => {
    expect(lostAt(59_990, 'client-closed').findings).to.deep.equal([]);
    expect(lostAt(59_990, 'session-deadline').findings).to.deep.equal(['losses']);
    expect(
      lostAt(59_990, 'client-closed').without((event) => event.type === 'left' && event.client === 'c1').findings,
    ).to.deep.equal(['losses', 'settled']);
  });

  it('must be reported by the signal', () => {
    const script = lostAt(20_000).fault('silent-link', 'c1', 19_000, 25_000);
    expect(script.without(({ type }) => type === 'lost').findings).to.deep.equal(['losses']);
  });

  it('must be reported by the release', () => {
    const script = calm()
      .fault('silent-link', 'c1', 19_000, 25_000)
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .own('c1', 'x', 20_000, { type: 'lost', reason: 'session-deadline' })
      .own('c1', 'x', 20_001, { type: 'releasing', valid: false })
      .own('c1', 'x', 20_001, { type: 'released', outcome: 'released' });
    expect(script.findings).to.deep.equal(['losses']);
  });
});

describe('a refusal in a history', () => {
  it('needs no fault if the caller asked for it', () => {
    for (const outcome of ['none', 'aborted'] as const) {
      const script = calm()
        .own('c1', 'x', 990, { type: 'call', path: '/a', kind: 'timed', flow: 'x' })
        .own('c1', 'x', 1_000, { type: 'refused', outcome });
      expect(script.findings).to.deep.equal([]);
    }
  });
});
