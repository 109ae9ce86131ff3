import { expect } from 'chai';
import { Fixture, noticedMs, sessionMs, tickMs } from './support/fixture.ts';

describe('a session of a simulated ensemble', () => {
  it('is opened at any member, and known to all', () => {
    const lab = new Fixture();
    for (const member of [0, 1, 2]) {
      const client = lab.open(member);
      expect(client.isOpen).to.equal(true);
      expect(client.timeoutMs).to.equal(sessionMs);
      client[Symbol.dispose]();
      expect(lab.resume(client, (member + 1) % 3).ticket).to.deep.equal(client.ticket);
    }
    expect(lab.ensemble.committed().sessions).to.have.length(3);
  });

  it('gets a timeout within the bounds of the ensemble', () => {
    const lab = new Fixture({ minSessionTimeoutMs: 3_000, maxSessionTimeoutMs: 9_000 });
    expect([1, 5_000, 50_000].map((timeoutMs) => lab.open(0, timeoutMs).timeoutMs)).to.deep.equal([
      3_000, 5_000, 9_000,
    ]);
  });

  it('is expired at the end of the tick in which its timeout ends', () => {
    const lab = new Fixture();
    const client = lab.open(2);
    lab.clock.advance(2 * tickMs - lab.clock.now());
    client.ping(); // at a tick
    lab.clock.advance(sessionMs + tickMs - 1);
    expect(client.isClosed).to.equal(false);
    lab.clock.advance(1);
    lab.settle();
    expect(client.isClosed).to.equal(true);
    expect(lab.ensemble.committed().sessions).to.deep.equal([]);
  });

  it('stays alive while its client pings a follower, which reports it to the leader', () => {
    const lab = new Fixture();
    const client = lab.open(0);
    lab.idle(10 * sessionMs, client);
    expect(client.isOpen).to.equal(true);
  });

  it('expires although its follower goes on answering pings and reads, because the follower is cut off', () => {
    const lab = new Fixture();
    const client = lab.open(0);
    client.create('/ephemeral', 1);
    lab.settle();
    lab.ensemble.cut(0);
    lab.idle(sessionMs + 2 * tickMs, client);
    expect(lab.ensemble.committed().sessions).to.deep.equal([]);
    expect(lab.ensemble.committed().has('/ephemeral')).to.equal(false);
    const pongs = client.pongs;
    client.ping();
    expect(client.pongs).to.equal(pongs + 1);
    expect(client.answer(client.exists('/ephemeral'))).to.equal('ok');
  });

  it('loses its connection when its follower has heard nothing from the leader for syncLimit ticks', () => {
    const lab = new Fixture();
    const client = lab.open(0, 40_000);
    lab.settle();
    lab.ensemble.cut(0);
    lab.idle(4 * tickMs, client);
    expect(client.isClosed).to.equal(false);
    lab.idle(1.5 * tickMs, client);
    expect(client.isClosed).to.equal(true);
    expect(lab.ensemble.roleOf(0)).to.equal('looking');
  });

  it('is not extended by a request that a follower forwards, but only by the answer to a ping of the leader', () => {
    const lab = new Fixture({ tickTimeMs: 60_000, minSessionTimeoutMs: 1, delayMs: 1 });
    const client = lab.open(0, 50_000);
    const before = lab.ensemble.committed().sessionViews[0]?.expiresAt;
    expect(before).to.equal(60_000);
    lab.clock.advance(11_000);
    // The leader pings every 30 s: it has heard of the session by now, or will.
    const expiries = new Set<number | undefined>();
    let heardAt = 0;
    for (let second = 0; second < 32 && heardAt === 0; second += 1) {
      const xid = client.create(`/a${second}`);
      lab.clock.advance(100);
      expect(client.answer(xid)).to.equal('ok');
      const at = lab.ensemble.committed().sessionViews[0]?.expiresAt;
      expiries.add(at);
      if (at !== before) heardAt = second;
      lab.clock.advance(900);
    }
    expect([...expiries]).to.deep.equal([60_000, 120_000]);
    expect(heardAt).to.be.greaterThan(1);
  });

  it('is extended when its client connects again, also at a follower', () => {
    const lab = new Fixture();
    let client = lab.open(0);
    for (let time = 0; time < 6; time += 1) {
      client[Symbol.dispose]();
      lab.clock.advance(sessionMs - 500);
      client = lab.resume(client, time % 3);
      expect(client.isOpen).to.equal(true);
    }
  });

  it('cannot be resumed at a member that is cut off: it gets no answer', () => {
    const lab = new Fixture();
    const client = lab.open(1);
    lab.ensemble.cut(0);
    const resumed = lab.resume(client, 0);
    expect([resumed.isOpen, resumed.isRefused, resumed.isClosed]).to.deep.equal([false, false, false]);
    lab.ensemble.heal(0);
    lab.settle();
    expect(resumed.isOpen).to.equal(true);
  });

  it('is refused when it is over, unknown, or named with a wrong password', () => {
    const lab = new Fixture();
    const client = lab.open(1);
    const thief = lab.dial(0).connect(sessionMs, { ...client.ticket, password: Buffer.alloc(16, 7) });
    const stranger = lab.dial(0).connect(sessionMs, { sessionId: 77n, password: Buffer.alloc(16) });
    lab.ensemble.expire(client.ticket.sessionId);
    lab.settle();
    const late = lab.resume(client, 0);
    for (const one of [thief, stranger, late]) expect([one.isRefused, one.isClosed]).to.deep.equal([true, true]);
  });

  it('loses its old connection at once when it is resumed at the same member', () => {
    const lab = new Fixture();
    const client = lab.open(1);
    expect(lab.resume(client, 1).isOpen).to.equal(true);
    expect(client.isClosed).to.equal(true);
  });

  it('keeps its old connection at another follower until that one sends a write, which is not carried out', () => {
    const lab = new Fixture();
    const client = lab.open(0);
    const moved = lab.resume(client, 1);
    expect(client.answer(client.exists('/'))).to.equal('ok');
    client.create('/by-the-old-one', 1);
    lab.settle();
    expect(client.isClosed).to.equal(true);
    expect(lab.ensemble.committed().has('/by-the-old-one')).to.equal(false);
    moved.create('/by-the-new-one', 1);
    lab.settle();
    expect(lab.ensemble.committed().get('/by-the-new-one')?.ephemeralOwner).to.equal(moved.ticket.sessionId);
  });

  it('loses its old connection at the leader with the next request, also a read', () => {
    const lab = new Fixture();
    const client = lab.open(2);
    lab.resume(client, 0);
    expect(client.isClosed).to.equal(false);
    const xid = client.exists('/');
    expect([client.isClosed, client.answer(xid)]).to.deep.equal([true, undefined]);
  });

  it('changes nothing any more once the leader has decided to end it', () => {
    const lab = new Fixture({ delayMs: 10 });
    const client = lab.open(0);
    const xid = client.create('/late');
    lab.ensemble.expire(client.ticket.sessionId);
    lab.clock.advance(1_000);
    expect(client.answer(xid)).to.equal(undefined);
    expect(client.isClosed).to.equal(true);
    expect(lab.ensemble.committed().has('/late')).to.equal(false);
  });

  it('ends with all its ephemeral znodes in one transaction', () => {
    const lab = new Fixture();
    const [client, watcher] = [lab.open(0), lab.open(1, 40_000)];
    for (const name of ['a', 'b', 'c']) client.create(`/${name}`, 1);
    lab.settle();
    for (const name of ['a', 'b', 'c']) watcher.exists(`/${name}`, true);
    const commits: unknown[] = [];
    lab.ensemble.onCommit(({ is, sessionId, changes }) => commits.push([is, sessionId, changes.map((one) => one.is)]));
    client.send({ op: 'closeSession' });
    lab.settle();
    expect(commits).to.deep.equal([['close', client.ticket.sessionId, ['deleted', 'deleted', 'deleted']]]);
    expect([...watcher.events].sort()).to.deep.equal(['deleted /a', 'deleted /b', 'deleted /c']);
    expect(client.isClosed).to.equal(true);
  });

  it('has, under a new leader, the full timeout that it was created with', () => {
    const lab = new Fixture({ electionMs: 1 });
    const client = lab.open(0, 12_000);
    client[Symbol.dispose]();
    // The leader goes by the timeout of the newest connection, until a new leader takes over.
    const resumed = lab.resume(client, 0, sessionMs);
    resumed[Symbol.dispose]();
    lab.clock.advance(sessionMs - 1_000);
    const old = lab.ensemble.depose();
    expect(old).to.equal(2);
    lab.elected(old);
    const tookOverAt = lab.clock.now();
    const expiresAt = lab.ensemble.committed().sessionViews[0]?.expiresAt ?? 0;
    expect(expiresAt - tookOverAt).to.be.within(11_800, 12_000 + tickMs);
    lab.clock.advance(expiresAt - tookOverAt - 1);
    expect(lab.ensemble.committed().sessions).to.have.length(1);
    lab.clock.advance(200);
    expect(lab.ensemble.committed().sessions).to.have.length(0);
  });

  it('does not end when a deposed leader expires it', () => {
    const lab = new Fixture();
    const client = lab.open(0);
    const old = lab.ensemble.depose() ?? -1;
    const leader = lab.elected(old);
    let moved = lab.resume(client, leader);
    lab.idle(noticedMs, moved);
    lab.ensemble.heal(old);
    lab.idle(noticedMs, moved);
    expect(lab.ensemble.roleOf(old)).to.equal('following');
    moved = lab.resume(moved, old);
    expect(moved.isOpen).to.equal(true);
  });
});
