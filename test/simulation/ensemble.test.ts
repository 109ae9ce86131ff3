import { expect } from 'chai';
import { Fixture, noticedMs, tickMs } from './support/fixture.ts';

const longMs = 40_000;

describe('a simulated ensemble', () => {
  it('carries out a write of a follower on all members', () => {
    const lab = new Fixture();
    const clients = [0, 1, 2].map((member) => lab.open(member));
    const xid = clients[0]?.create('/written') ?? 0;
    expect(clients[0]?.answer(xid)).to.equal(undefined);
    lab.settle();
    expect(clients[0]?.answer(xid)).to.equal('ok');
    for (const client of clients) expect(client.answer(client.exists('/written'))).to.equal('ok');
  });

  it('answers the requests of one client in their order, and a read sees the writes before it', () => {
    for (const member of [0, 2]) {
      const lab = new Fixture();
      const client = lab.open(member);
      const create = { op: 'create', path: '/a' } as const;
      const exists = { op: 'exists', path: '/a' } as const;
      const sync = { op: 'sync', path: '/' } as const;
      client.send(exists, create, exists, sync, { op: 'delete', path: '/a' }, exists, sync, exists);
      lab.settle();
      const answers = client.answers.map(({ xid }) => [xid, client.answer(xid)]);
      expect(answers).to.deep.equal([
        [1, 'NO_NODE'],
        [2, 'ok'],
        [3, 'ok'],
        [4, 'ok'],
        [5, 'ok'],
        [6, 'NO_NODE'],
        [7, 'ok'],
        [8, 'NO_NODE'],
      ]);
    }
  });

  it('decides a write as the writes that are proposed but not committed will leave the tree', () => {
    const lab = new Fixture({ delayMs: 50 });
    const [one, other] = [lab.open(2, longMs), lab.open(2, longMs)];
    lab.clock.advance(5_000);
    const first = one.create('/same');
    const second = other.create('/same');
    const below = other.create('/same/ephemeral', 1);
    const gone = one.send({ op: 'delete', path: '/same' });
    lab.clock.advance(5_000);
    expect([one.answer(first), other.answer(second), other.answer(below), one.answer(gone)]).to.deep.equal([
      'ok',
      'NODE_EXISTS',
      'ok',
      'NOT_EMPTY',
    ]);
  });

  it('knows at the end of a session the ephemeral znodes that are proposed but not committed', () => {
    const lab = new Fixture({ delayMs: 50 });
    const [one, other] = [lab.open(2, longMs), lab.open(2, longMs)];
    lab.clock.advance(5_000);
    one.create('/ephemeral', 1);
    one.send({ op: 'closeSession' });
    const again = other.create('/ephemeral', 1);
    lab.clock.advance(5_000);
    expect(other.answer(again)).to.equal('ok');
    expect(lab.ensemble.committed().get('/ephemeral')?.ephemeralOwner).to.equal(other.ticket.sessionId);
  });

  it('sends the event of a watch from the member that the client is connected to, when this member applies the change', () => {
    const lab = new Fixture();
    const [writer, near, far] = [lab.open(2, longMs), lab.open(2, longMs), lab.open(0, longMs)];
    for (const client of [near, far]) client.exists('/watched', true);
    lab.ensemble.cut(0);
    writer.create('/watched');
    lab.settle();
    expect([near.events, far.events]).to.deep.equal([['created /watched'], []]);
    lab.ensemble.heal(0);
    lab.settle();
    expect(far.events).to.deep.equal(['created /watched']);
  });

  it('serves an older tree from a follower that lags, until the follower has caught up', () => {
    const lab = new Fixture();
    const [writer, reader] = [lab.open(2, longMs), lab.open(0, longMs)];
    lab.ensemble.cut(0);
    writer.create('/new');
    lab.settle();
    expect(reader.answer(reader.exists('/new'))).to.equal('NO_NODE');
    const synced = reader.sync();
    lab.settle();
    expect(reader.answer(synced)).to.equal(undefined);
    lab.ensemble.heal(0);
    lab.settle();
    expect(reader.answer(synced)).to.equal('ok');
    expect(reader.answer(reader.exists('/new'))).to.equal('ok');
  });

  it('shows a write late at a slow member, and at once at the others, which do not wait for it', () => {
    const lab = new Fixture();
    const [writer, slow, quick] = [lab.open(2, longMs), lab.open(0, longMs), lab.open(1, longMs)];
    const hasSeen = (path: string): (string | undefined)[] => {
      const created = writer.create(path);
      lab.settle();
      const answers = [quick, slow].map((client) => client.answer(client.exists(path)));
      return [writer.answer(created), ...answers];
    };
    const speedUp = lab.ensemble.slowDown(0, 500);
    expect(hasSeen('/slow')).to.deep.equal(['ok', 'ok', 'NO_NODE']);
    lab.clock.advance(500);
    expect(slow.answer(slow.exists('/slow'))).to.equal('ok');
    const own = slow.create('/own');
    lab.clock.advance(900);
    expect(slow.answer(own)).to.equal(undefined);
    lab.clock.advance(700);
    expect(slow.answer(own)).to.equal('ok');
    speedUp();
    expect(hasSeen('/quick')).to.deep.equal(['ok', 'ok', 'ok']);
  });

  it('answers so many requests of a session with THROTTLED_OP, in their order, and does not carry them out', () => {
    const lab = new Fixture();
    const [client, other] = [lab.open(0, longMs), lab.open(0, longMs)];
    lab.ensemble.throttle(client.ticket.sessionId, 2);
    const xids = [client.create('/a'), client.exists('/'), client.create('/b')];
    const unhindered = other.create('/c');
    lab.settle();
    expect(xids.map((xid) => client.answer(xid))).to.deep.equal(['THROTTLED_OP', 'THROTTLED_OP', 'ok']);
    expect(client.answers.map(({ xid }) => xid)).to.deep.equal(xids);
    expect([other.answer(unhindered), other.answer(other.exists('/a'))]).to.deep.equal(['ok', 'NO_NODE']);
  });

  it('lets a sync of a follower wait for all that was proposed before it', () => {
    const lab = new Fixture();
    const [writer, reader] = [lab.open(2, longMs), lab.open(0, longMs)];
    writer.create('/before');
    const read = reader.send({ op: 'sync', path: '/' }, { op: 'exists', path: '/before' });
    lab.settle();
    expect(reader.answer(read)).to.equal('ok');
  });

  it("refuses a client without a reply at a member that has not seen the client's newest zxid", () => {
    const lab = new Fixture();
    const writer = lab.open(2, longMs);
    lab.ensemble.cut(0);
    writer.create('/new');
    lab.settle();
    const { ticket, lastZxid } = writer;
    expect(lab.dial(0).connect(longMs, ticket, lastZxid).isRefusedSilently).to.equal(true);
    lab.ensemble.heal(0);
    lab.settle();
    const moved = lab.dial(0).connect(longMs, ticket, lastZxid);
    lab.settle();
    expect(moved.isOpen).to.equal(true);
  });

  it('commits nothing without a majority, and everything once the majority is back', () => {
    const lab = new Fixture();
    const client = lab.open(2, longMs);
    for (const member of [0, 1]) lab.ensemble.cut(member);
    const xid = client.create('/minority');
    lab.settle();
    expect([client.answer(xid), lab.ensemble.committed().has('/minority')]).to.deep.equal([undefined, false]);
    lab.ensemble.heal(1);
    lab.settle();
    expect([client.answer(xid), lab.ensemble.committed().has('/minority')]).to.deep.equal(['ok', true]);
  });

  it('goes on when one direction of a link is cut, and the follower does not notice that nobody hears it', () => {
    const lab = new Fixture();
    const client = lab.open(0);
    lab.ensemble.cutLink(0, 2);
    lab.idle(3 * tickMs, client);
    expect(lab.ensemble.committed().sessions).to.deep.equal([]);
    // The end of the session reaches the follower, and with it the client.
    expect(client.isClosed).to.equal(true);
    lab.ensemble.healLink(0, 2);
    lab.settle();
    expect(lab.open(0).isOpen).to.equal(true);
  });

  it('lets a deposed leader answer reads and syncs, but commit nothing, until it notices', () => {
    const lab = new Fixture();
    const client = lab.open(2, longMs);
    const old = lab.ensemble.depose();
    expect(old).to.equal(2);
    lab.elected(2);
    const writer = lab.open(0, longMs);
    writer.create('/new');
    lab.settle();
    const lost = client.create('/lost');
    expect(lab.ensemble.committed().has('/new')).to.equal(true);
    const reader = lab.dial(2);
    reader.connect(longMs, client.ticket);
    const [synced, read] = [reader.sync(), reader.exists('/new')];
    expect([reader.answer(synced), reader.answer(read)]).to.deep.equal(['ok', 'NO_NODE']);
    expect(lab.ensemble.roleOf(2)).to.equal('leading');
    lab.idle(noticedMs, reader);
    expect([client.answer(lost), reader.isClosed, lab.ensemble.roleOf(2)]).to.deep.equal([undefined, true, 'looking']);
    expect(lab.ensemble.committed().has('/lost')).to.equal(false);
  });

  it('drops what a deposed leader proposed alone, when that member joins the new leader', () => {
    const lab = new Fixture();
    const client = lab.open(2, longMs);
    const old = lab.ensemble.depose() ?? -1;
    client.create('/lost');
    lab.elected(old);
    const writer = lab.open(0, longMs);
    writer.create('/kept');
    lab.idle(noticedMs, writer);
    lab.ensemble.heal(old);
    lab.idle(noticedMs, writer);
    expect(lab.ensemble.roleOf(old)).to.equal('following');
    const reader = lab.open(old, longMs);
    const [lost, kept] = [reader.exists('/lost'), reader.exists('/kept')];
    expect([reader.answer(lost), reader.answer(kept)]).to.deep.equal(['NO_NODE', 'ok']);
  });

  it('keeps under a new leader what one follower has logged, although no client got an answer', () => {
    const lab = new Fixture();
    const client = lab.open(2, longMs);
    lab.ensemble.cutLink(0, 2);
    lab.ensemble.cutLink(1, 2);
    const xid = client.create('/logged');
    lab.settle();
    expect([client.answer(xid), lab.ensemble.committed().has('/logged')]).to.deep.equal([undefined, false]);
    lab.elected(lab.ensemble.depose());
    expect(lab.ensemble.committed().has('/logged')).to.equal(true);
  });

  it('elects a leader with a higher epoch, and refuses connections during the election', () => {
    const lab = new Fixture();
    const before = lab.open(0, longMs);
    const { zxid } = lab.ensemble.committed();
    expect(Math.floor(zxid / 2 ** 32)).to.equal(1);
    lab.ensemble.depose();
    expect([before.isClosed, lab.ensemble.leader]).to.deep.equal([true, undefined]);
    expect(lab.dial(0).connect(longMs).isRefusedSilently).to.equal(true);
    expect(lab.elected(2)).to.equal(1);
    expect(lab.open(0, longMs).isOpen).to.equal(true);
    expect(lab.ensemble.committed().zxid).to.equal(2 * 2 ** 32 + 1);
  });

  it('has no deposed leader if the others are too few to elect one', () => {
    expect(new Fixture({ members: 1 }).ensemble.depose()).to.equal(undefined);
    const lab = new Fixture();
    lab.ensemble.crash(0);
    expect(lab.ensemble.depose()).to.equal(undefined);
    expect(lab.ensemble.leader).to.equal(2);
  });

  it('ends the connections of a member that crashes, and brings it back with all that it has missed', () => {
    const lab = new Fixture();
    const [client, writer] = [lab.open(0, longMs), lab.open(2, longMs)];
    lab.ensemble.crash(0);
    expect([client.isClosed, lab.dial(0).isClosed]).to.deep.equal([true, true]);
    writer.create('/missed');
    lab.settle();
    lab.ensemble.restart(0);
    expect(lab.dial(0).connect(longMs).isRefusedSilently).to.equal(true);
    lab.clock.advance(1_000);
    const back = lab.dial(0).connect(longMs, client.ticket, writer.lastZxid);
    lab.settle();
    expect(back.isOpen).to.equal(true);
    expect(back.answer(back.exists('/missed'))).to.equal('ok');
  });

  it('elects another leader when the leader crashes, and loses nothing that was answered', () => {
    const lab = new Fixture();
    const client = lab.open(2, longMs);
    const xid = client.create('/answered');
    lab.settle();
    expect(client.answer(xid)).to.equal('ok');
    lab.ensemble.crash(2);
    expect(lab.elected(2)).to.equal(1);
    const moved = lab.resume(client, 0, longMs);
    expect(moved.answer(moved.exists('/answered'))).to.equal('ok');
  });

  it('loses nothing that was answered when all members crash and restart', () => {
    for (const members of [1, 3, 5]) {
      const lab = new Fixture({ members });
      const client = lab.open(0, longMs);
      client.create('/answered');
      lab.settle();
      for (let member = 0; member < members; member += 1) lab.ensemble.crash(member);
      lab.clock.advance(10_000);
      expect(lab.ensemble.leader).to.equal(undefined);
      expect(lab.ensemble.committed().has('/answered')).to.equal(true);
      for (let member = 0; member < members; member += 1) lab.ensemble.restart(member);
      lab.elected();
      lab.clock.advance(2_000);
      const back = lab.resume(client, 0, longMs);
      expect(back.answer(back.exists('/answered'))).to.equal('ok');
    }
  });

  it('comes back empty when it has lost its data, and refuses clients that have seen more', () => {
    const lab = new Fixture();
    const [idle, client] = [lab.open(0, longMs), lab.open(1, longMs)];
    client.create('/answered');
    lab.settle();
    expect(() => lab.ensemble.wipe()).to.throw('keeps its data');
    for (const member of [0, 1, 2]) lab.ensemble.crash(member);
    lab.ensemble.wipe();
    expect([...lab.ensemble.committed().paths()].filter((path) => path === '/answered')).to.deep.equal([]);
    for (const member of [0, 1, 2]) lab.ensemble.restart(member);
    lab.elected();
    const back = lab.dial(1).connect(longMs, client.ticket, client.lastZxid);
    expect(back.isRefusedSilently).to.equal(true);
    expect(lab.resume(idle, 1, longMs).isClosed).to.equal(true);
    const anew = lab.open(2, longMs);
    anew.create('/anew');
    lab.settle();
    expect(lab.ensemble.committed().has('/anew')).to.equal(true);
    expect(anew.lastZxid).to.be.lessThanOrEqual(client.lastZxid);
  });

  it('ends a session and deletes a znode when it is told to, through its leader', () => {
    const lab = new Fixture();
    const [client, other] = [lab.open(0, longMs), lab.open(1, longMs)];
    client.create('/mine', 1);
    other.create('/parent');
    other.create('/parent/child');
    lab.settle();
    expect(lab.ensemble.deleteZnode('/parent')).to.equal(false);
    expect(lab.ensemble.deleteZnode('/parent/child')).to.equal(true);
    expect(lab.ensemble.deleteZnode('/parent/child')).to.equal(false);
    expect(lab.ensemble.expire(client.ticket.sessionId)).to.equal(true);
    expect(lab.ensemble.expire(client.ticket.sessionId)).to.equal(false);
    lab.settle();
    expect([client.isClosed, other.isClosed]).to.deep.equal([true, false]);
    const paths = [...lab.ensemble.committed().paths()].filter((path) => !path.startsWith('/zookeeper'));
    expect(paths).to.deep.equal(['/', '/parent']);
  });

  it('reaps a container that has lost its last child', () => {
    const lab = new Fixture();
    const client = lab.open(0, longMs);
    client.send({ op: 'createContainer', path: '/container' });
    client.create('/container/child');
    lab.idle(70_000, client);
    expect(lab.ensemble.committed().has('/container')).to.equal(true);
    client.send({ op: 'delete', path: '/container/child' });
    lab.idle(70_000, client);
    expect(lab.ensemble.committed().has('/container')).to.equal(false);
  });

  for (const startMs of [0, 45_000])
    it(`reaps a minute after its start, also at ${startMs} ms: no test depends on those before it`, () => {
      const lab = new Fixture({}, 1, startMs);
      const client = lab.open(0, longMs);
      client.send(
        { op: 'createContainer', path: '/container' },
        { op: 'create', path: '/container/child' },
        { op: 'delete', path: '/container/child' },
      );
      lab.idle(50_000, client);
      expect(lab.ensemble.committed().has('/container')).to.equal(true);
      lab.idle(12_000, client);
      expect(lab.ensemble.committed().has('/container')).to.equal(false);
    });

  it('tells each commit once and in order, also over an election', () => {
    const lab = new Fixture();
    const seen: string[] = [];
    let newest = 0;
    lab.ensemble.onCommit(({ zxid, changes }) => {
      expect(zxid > newest).to.equal(true);
      newest = zxid;
      for (const change of changes) seen.push(`${change.is} ${change.path}`);
    });
    const client = lab.open(0, longMs);
    client.create('/a');
    client.create('/b', 1);
    lab.settle();
    lab.elected(lab.ensemble.depose());
    const moved = lab.resume(client, 1, longMs);
    moved.send({ op: 'delete', path: '/a' });
    moved.send({ op: 'closeSession' });
    lab.ensemble.heal(2);
    lab.clock.advance(noticedMs);
    expect(seen).to.deep.equal(['created /a', 'created /b', 'deleted /a', 'deleted /b']);
  });

  it('goes on with two members of five cut off', () => {
    const lab = new Fixture({ members: 5 });
    for (const member of [4, 0]) lab.ensemble.cut(member);
    expect(lab.ensemble.leader).to.equal(4);
    lab.clock.advance(noticedMs);
    expect(lab.elected(4)).to.equal(3);
    expect(lab.open(1, longMs).isOpen).to.equal(true);
  });

  it('refuses a number of members that it cannot have', () => {
    for (const members of [0, 1.5, 31])
      expect(() => new Fixture({ members })).to.throw(RangeError, '`members` must be an integer from 1 to 30');
    expect(() => new Fixture().ensemble.cut(3)).to.throw(RangeError, '`member` must be from 0 to 2, got 3');
  });
});
