import { expect } from 'chai';
import { knownHolder, rememberHolder, seenIn } from '../../src/internals/known-holder.ts';
import { markIdle, ownerData } from '../../src/internals/znode/znode-data.ts';
import { Companions } from '../../src/support/companions.ts';
import type { Session } from '../../src/zookeeper/session/session.ts';

const stat = { czxid: 1n, mzxid: 1n, createdAtMs: Date.UTC(2026, 0, 2), version: 0, ephemeralOwner: 0x1234n };

function watching(): Session {
  return { watches: { has: () => true }, companions: new Companions({}) } as unknown as Session;
}

describe('the holder that a waiter has seen', () => {
  let session: Session;

  beforeEach(() => (session = watching()));

  it('is the newest one of its lock', () => {
    rememberHolder(session, seenIn('/a/b/first', { data: Buffer.from('10.0.0.1'), stat }));
    rememberHolder(session, seenIn('/a/b/second', { data: Buffer.from('10.0.0.2'), stat }));
    rememberHolder(session, seenIn('/a/other', { data: ownerData(), stat }));
    expect(knownHolder(session, '/a/b')).to.deep.equal({
      path: '/a/b/second',
      sessionId: '0x1234',
      host: '10.0.0.2',
      pid: undefined,
      heldSince: undefined,
      queuedSince: new Date('2026-01-02T00:00:00Z'),
    });
    expect(knownHolder(session, '/a')).to.include({ path: '/a/other', pid: process.pid });
    expect(knownHolder(session, '/a/b/first')).to.equal(undefined);
    expect(knownHolder(watching(), '/a')).to.equal(undefined);
  });

  it('has a host even if its sticky lock is idle', () => {
    rememberHolder(session, seenIn('/a/b', { data: markIdle(Buffer.from('10.0.0.1')), stat }));
    expect(knownHolder(session, '/a')).to.have.property('host', '10.0.0.1');
  });

  it('has a host only where the data are an address: other text is the application’s own', () => {
    for (const [text, host] of [
      ['10.0.0.1', '10.0.0.1'],
      ['fe80::1%eth0', 'fe80::1%eth0'],
      ['nightly', undefined],
      ['web-2.example', undefined],
      ['1.2.3', undefined],
    ] as const) {
      rememberHolder(session, seenIn('/a/b', { data: Buffer.from(text), stat }));
      expect(knownHolder(session, '/a')?.host, text).to.equal(host);
    }
  });

  it('has no time where the server has sent an invalid one: its text would throw in the timer that ends the wait', () => {
    rememberHolder(session, seenIn('/a/b', { data: Buffer.alloc(0), stat: { ...stat, createdAtMs: 2 ** 60 } }));
    expect(knownHolder(session, '/a')).to.have.property('queuedSince', undefined);
  });

  it('is forgotten after a thousand newer ones', () => {
    for (let lock = 0; lock <= 1_000; lock += 1)
      rememberHolder(session, seenIn(`/${lock}/holder`, { data: Buffer.alloc(0), stat }));
    expect(knownHolder(session, '/0')).to.equal(undefined);
    expect(knownHolder(session, '/1')).not.to.equal(undefined);
    // Seen again, it is the newest.
    rememberHolder(session, seenIn('/1/holder', { data: Buffer.alloc(0), stat }));
    rememberHolder(session, seenIn('/one-more/holder', { data: Buffer.alloc(0), stat }));
    expect(knownHolder(session, '/1')).not.to.equal(undefined);
    expect(knownHolder(session, '/2')).to.equal(undefined);
  });
});
