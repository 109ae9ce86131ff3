import { expect } from 'chai';
import { LockLostError, type LossReason, OutcomeUnknownError, RequestFailedError } from '../../src/index.ts';
import { ZooKeeperError } from '../../src/zookeeper/zookeeper-error.ts';
import { Closed } from '../../simulation/rules/closed.ts';
import { GuardedWrites } from '../../simulation/rules/guarded-writes.ts';
import { Herd } from '../../simulation/rules/herd.ts';
import { Leases } from '../../simulation/rules/leases.ts';
import { Losses } from '../../simulation/rules/losses.ts';
import { judgeExistence, olderThan } from '../../simulation/rules/order.ts';
import { Places } from '../../simulation/rules/places.ts';
import { Quiet } from '../../simulation/rules/quiet.ts';
import { ReEntry } from '../../simulation/rules/re-entry.ts';
import { Revocations } from '../../simulation/rules/revocations.ts';
import { Terms } from '../../simulation/rules/terms.ts';
import { RuleBench, processAt, simClient, znode } from './support/rule-bench.ts';

describe('the judge of a simulation', () => {
  let bench: RuleBench;
  beforeEach(() => {
    bench = new RuleBench();
  });

  describe('of places', () => {
    const names: Record<string, string> = { 1: 'p0c0#1', 2: 'p0c0#1', 3: 'p0c0#2' };
    const sessions: Record<string, bigint> = { 1: 1n, 2: 1n, 3: 1n };
    let places: Places;
    beforeEach(() => {
      const data = (number: string): Buffer => Buffer.from(names[number] ?? '');
      places = new Places(bench, [{ path: '/locks/a', is: 'mutex' }], (path) => {
        const number = path.slice(-1);
        return { data: data(number), czxid: 1, ephemeralOwner: sessions[number] ?? 2n };
      });
    });

    it('tells a waiter that comes with a second znode in one session', () => {
      places.created('/locks/a/1');
      places.created('/locks/a/3');
      expect(bench.told).to.deep.equal([]);
      places.created('/locks/a/2');
      expect(bench.told).to.deep.equal(['place']);
    });

    it('accepts a second znode if the first was taken, or belonged to another session', () => {
      places.created('/locks/a/1');
      places.taken('/locks/a/1');
      places.created('/locks/a/2');
      names['8'] = 'p0c0#1';
      places.created('/locks/a/8');
      places.created('/locks/b/1');
      places.created('/locks/b/1');
      expect(bench.told).to.deep.equal([]);
    });
  });

  describe('of guarded writes', () => {
    const made = (prefix: string, number = 1): string => `${prefix}${String(number).padStart(10, '0')}`;
    const lost = new LockLostError('/locks/a/1', 'node-deleted');
    const wrote = (): void => undefined;

    it('accepts a write that was done once, as the application was told', () => {
      const writes = new GuardedWrites(bench, wrote);
      const write = writes.begin([bench.claim(1)], false);
      writes.created(made(write.prefix));
      writes.succeeded(write, made(write.prefix));
      expect(bench.told).to.deep.equal([]);
      expect(writes.done).to.equal(1);
    });

    it('tells a write that was done twice', () => {
      const writes = new GuardedWrites(bench, wrote);
      const { prefix } = writes.begin([bench.claim(1)], false);
      writes.created(made(prefix));
      writes.created(made(prefix, 2));
      expect(bench.told).to.deep.equal(['guarded']);
    });

    it('tells a write that is said to be done, and is not', () => {
      const writes = new GuardedWrites(bench, wrote);
      const write = writes.begin([bench.claim(1)], false);
      writes.succeeded(write, made(write.prefix));
      expect(bench.told).to.deep.equal(['guarded']);
    });

    it('tells a write that is done although its commit rejected, before or after that', () => {
      const writes = new GuardedWrites(bench, wrote);
      const [before, after] = [writes.begin([bench.claim(1)], false), writes.begin([bench.claim(1)], false)];
      writes.created(made(before.prefix));
      expect(writes.failed(before, lost)).to.equal(true);
      expect(bench.told).to.deep.equal(['guarded']);
      expect(writes.failed(after, lost)).to.equal(true);
      writes.created(made(after.prefix));
      expect(bench.told).to.deep.equal(['guarded', 'guarded']);
    });

    it('accepts either outcome of a write whose answer was lost', () => {
      const writes = new GuardedWrites(bench, wrote);
      const write = writes.begin([bench.claim(1)], false);
      expect(writes.failed(write, new OutcomeUnknownError('/locks/a/1', [], refused))).to.equal(true);
      writes.created(made(write.prefix));
      expect(bench.told).to.deep.equal([]);
    });

    it('tells a write that was done although the znode of its hold is gone', () => {
      const writes = new GuardedWrites(bench, wrote);
      const { prefix } = writes.begin([bench.claim(1)], false);
      bench.znodes.delete(znode(1));
      writes.created(made(prefix));
      expect(bench.told).to.deep.equal(['guarded']);
    });

    it('tells a write that was done while its hold was not the first', () => {
      const writes = new GuardedWrites(bench, wrote);
      bench.znodes.set(znode(1), 7n);
      const { prefix } = writes.begin([bench.claim(2)], false);
      writes.created(made(prefix));
      expect(bench.told).to.deep.equal(['guarded']);
    });

    it('tells a refusal without a cause, and the lack of one', () => {
      const writes = new GuardedWrites(bench, wrote);
      writes.failed(writes.begin([bench.claim(1)], false), new RequestFailedError('refused', refused));
      expect(bench.told).to.deep.equal(['guarded']);
      const write = writes.begin([bench.claim(1)], true);
      writes.created(made(write.prefix));
      writes.succeeded(write, made(write.prefix));
      expect(bench.told).to.deep.equal(['guarded', 'guarded']);
    });

    it('does not know an error that no commit rejects with', () => {
      const writes = new GuardedWrites(bench, wrote);
      expect(writes.failed(writes.begin([bench.claim(1)], false), new Error('other'))).to.equal(false);
    });
  });

  describe('of leaders', () => {
    it('tells two jobs of one lead at once', () => {
      const terms = new Terms(bench);
      const lead = {};
      const end = terms.begin(lead, bench.claim(1), new AbortController().signal);
      terms.begin({}, bench.claim(2), new AbortController().signal);
      end();
      terms.begin(lead, bench.claim(3), new AbortController().signal);
      expect(bench.told).to.deep.equal([]);
      terms.begin(lead, bench.claim(4), new AbortController().signal);
      expect(bench.told).to.deep.equal(['term']);
    });

    it('tells a job whose signal does not abort with its term', () => {
      const terms = new Terms(bench);
      const [heard, deaf] = [bench.claim(1), bench.claim(2)];
      terms.begin({}, heard, AbortSignal.abort());
      terms.begin({}, deaf, new AbortController().signal);
      terms.look();
      expect(bench.told).to.deep.equal([]);
      heard.isTold = deaf.isTold = true;
      terms.look();
      expect(bench.told).to.deep.equal(['I8']);
    });
  });

  describe('of re-entry', () => {
    it('accepts a re-entry inside the flow that has the lock', () => {
      const reEntry = new ReEntry(bench);
      const outer = bench.claim(1, { flow: 'f', shared });
      const inner = bench.claim(1, { flow: 'f', shared, isReentrant: true });
      reEntry.granted(outer);
      reEntry.granted(inner);
      reEntry.nested(outer, inner);
      expect(bench.told).to.deep.equal([]);
    });

    it('tells a re-entry into a lock that was released', () => {
      const reEntry = new ReEntry(bench);
      const outer = bench.claim(1, { flow: 'f', shared });
      reEntry.granted(outer);
      outer.isReleased = true;
      reEntry.granted(bench.claim(1, { flow: 'f', shared, isReentrant: true }));
      expect(bench.told).to.deep.equal(['I7']);
    });

    it('tells code inside the flow that gets a lock of its own', () => {
      new ReEntry(bench).nested(bench.claim(1, { shared }), bench.claim(2));
      expect(bench.told).to.deep.equal(['I7']);
    });
  });

  describe('of leases', () => {
    it('tells a hold that lasts longer than its lease', () => {
      const leases = new Leases(bench);
      const claim = bench.claim(1, {
        call: { leaseMs: 100 },
        client: simClient(),
      });
      bench.time = 1_000;
      const { process } = claim.owner.client as unknown as { process: { now: number } };
      process.now = 100;
      leases.released(claim);
      expect(bench.told).to.deep.equal([]);
      process.now = 110;
      leases.released(claim);
      expect(bench.told).to.deep.equal(['lease']);
    });

    it('tells a lease that renews itself, and ends while its process runs', () => {
      const leases = new Leases(bench);
      const call = { leaseMs: 100, renewEveryMs: 50 };
      leases.told(bench.claim(1, { call, lostBy: 'session-deadline' }));
      leases.told(bench.claim(1, { call: { leaseMs: 100 }, lostBy: 'lease-expired' }));
      expect(bench.told).to.deep.equal([]);
      leases.told(bench.claim(1, { call, lostBy: 'lease-expired' }));
      expect(bench.told).to.deep.equal(['lease']);
    });
  });

  it('tells a request to release that the holder never got', () => {
    const revocations = new Revocations(bench, 1_000);
    const lock = { path: '/locks/a', is: 'mutex', isRevocable: true } as const;
    const [deaf, heard] = [bench.claim(1, { lock }), bench.claim(1, { lock })];
    revocations.asked(znode(1));
    revocations.answered(heard.hold.shared);
    bench.time = 1_000;
    revocations.released(deaf);
    bench.time = 1_001;
    revocations.released(heard);
    expect(bench.told).to.deep.equal([]);
    revocations.released(deaf);
    expect(bench.told).to.deep.equal(['revocation']);
  });

  describe('of losses', () => {
    const terms = { sessionTimeoutMs: 8_000, mostDelayMs: 1 };
    /** A calm client has 1,142.3 ms left, and the time to a connection with a proof is 239.7 ms. */
    const shortMs = 820;
    /** Effects are over after 1.3 timeouts. The holds were granted earlier. */
    const [feltMs, oldMs] = [10_400, 20_000];
    let losses: Losses;
    beforeEach(() => {
      bench.time = oldMs;
      losses = new Losses(bench, terms);
    });
    const lostAt = (time: number, reason: LossReason = 'session-deadline', its: object = {}): number => {
      bench.time = time;
      bench.told.length = 0;
      losses.told({ ...bench.claim(1), at: 0, ...its }, reason);
      return bench.told.length;
    };

    it('tells a hold that its session loses in a calm network, unless a third party has taken it', () => {
      expect(lostAt(oldMs)).to.equal(1);
      expect(lostAt(oldMs, 'session-expired')).to.equal(1);
      expect(lostAt(oldMs, 'session-expired', { isTaken: true })).to.equal(0);
    });

    it('accepts the loss of a hold that was just granted', () => {
      const at = oldMs - feltMs;
      expect([lostAt(oldMs, 'session-deadline', { at }), lostAt(oldMs + 1, 'session-deadline', { at })]).to.deep.equal([
        0, 1,
      ]);
    });

    it('accepts a loss after a fault that took long enough, until its effects are over', () => {
      losses.hurt(['p0c0'], shortMs, 'delay');
      expect(lostAt(oldMs + 50)).to.equal(1);
      losses = new Losses(bench, terms);
      losses.hurt(['p0c0'], shortMs + 1, 'delay');
      const over = bench.time + (shortMs + 1) * 1.1 + 239.7 + feltMs;
      expect([lostAt(oldMs + 50), lostAt(over - 1), lostAt(over + 1)]).to.deep.equal([0, 0, 1]);
    });

    it('accepts no loss because of a fault of another client', () => {
      losses.hurt(['p0c1'], 5_000, 'outage');
      expect(lostAt(oldMs + 50)).to.equal(1);
    });

    it('accepts no loss because of one cut, and a loss because of two in a row, an outage or a session that moved', () => {
      losses.hurt(['p0c0'], 0, 'delay');
      expect(lostAt(oldMs + 50)).to.equal(1);
      losses.hurt(['p0c0'], 0, 'delay');
      expect(lostAt(oldMs + 60)).to.equal(0);
      for (const how of ['outage', 'moved'] as const) {
        losses = new Losses(bench, terms);
        losses.hurt(['p0c0'], 0, how);
        expect(lostAt(oldMs + 70)).to.equal(0);
      }
    });

    it('counts the requests that a server puts off, and accepts a loss after a later cut: the next server does so, too', () => {
      losses.throttled(['p0c0'], 7);
      expect(lostAt(oldMs)).to.equal(1);
      const later = oldMs + 2 * feltMs;
      expect(lostAt(later)).to.equal(1);
      losses.hurt(['p0c0'], 0, 'delay');
      expect(lostAt(later)).to.equal(0);
      losses = new Losses(bench, terms);
      losses.throttled(['p0c0'], 8);
      expect(lostAt(later)).to.equal(0);
    });

    it('accepts a loss of a client with many calls, until the effects of the last one are over', () => {
      const { owner } = bench.claim(1);
      const isTold = (time: number): boolean => lostAt(time, 'session-deadline', { owner }) > 0;
      losses.opened(owner.client, 3);
      expect(isTold(oldMs)).to.equal(true);
      losses.opened(owner.client, 4);
      expect(isTold(oldMs + 2 * feltMs)).to.equal(false);
      losses.opened(owner.client, 3);
      losses.opened(owner.client, 2);
      expect([isTold(oldMs + 3 * feltMs), isTold(oldMs + 3 * feltMs + 1)]).to.deep.equal([false, true]);
    });

    it('accepts a loss while the servers do not follow one leader, and until the effects of that are over', () => {
      losses.look(true);
      expect(lostAt(oldMs)).to.equal(1);
      losses.look(false);
      expect([lostAt(oldMs + feltMs), lostAt(oldMs + feltMs + 1)]).to.deep.equal([0, 1]);
    });

    it('accepts a deleted znode only of a lock that was taken by force, or that a third party deleted', () => {
      expect(lostAt(oldMs, 'node-deleted')).to.equal(1);
      expect(lostAt(oldMs, 'node-deleted', { isTaken: true })).to.equal(0);
      losses.forced(znode(1));
      expect([lostAt(oldMs, 'node-deleted'), lostAt(oldMs, 'forced')]).to.deep.equal([0, 0]);
    });

    it('leaves the ends of leases and of clients to other rules, and judges no hold over a slow network', () => {
      expect([lostAt(oldMs, 'lease-expired'), lostAt(oldMs, 'client-closed')]).to.deep.equal([0, 0]);
      losses = new Losses(bench, { ...terms, mostDelayMs: 10 });
      expect(lostAt(oldMs)).to.equal(0);
    });

    it('tells a client that is suspended in a calm network, unless its session has moved', () => {
      losses.changed('p0c0', 'suspended');
      expect(bench.told).to.deep.equal(['I11']);
      losses.hurt(['p0c0'], 0, 'delay');
      losses.changed('p0c0', 'suspended');
      losses.hurt(['p0c1'], 0, 'moved');
      bench.time += 20_000;
      losses.changed('p0c1', 'suspended');
      expect(bench.told).to.deep.equal(['I11']);
      losses.changed('p0c1', 'reconnected');
      for (const client of ['p0c0', 'p0c1']) losses.changed(client, 'suspended');
      expect(bench.told).to.deep.equal(['I11', 'I11', 'I11']);
    });

    it('tells no client that is suspended where an attach may take longer than an attempt', () => {
      for (const [mostDelayMs, told] of [
        [11, 1],
        [13, 0],
      ] as const) {
        bench.told.length = 0;
        new Losses(bench, { ...terms, mostDelayMs }).changed('p0c0', 'suspended');
        expect(bench.told).to.have.length(told);
      }
    });
  });

  describe('of herds', () => {
    const client = {};
    let herd: Herd;
    beforeEach(() => {
      herd = new Herd(bench, [{ path: '/locks/a', is: 'mutex' }]);
      for (const n of [1, 2, 3, 4, 5]) bench.znodes.set(znode(n), BigInt(n));
      herd.changed([...bench.znodes.keys()], []);
    });

    /** The sessions that may not get the event of the end of the n-th znode. */
    function herded(n: number, sessions: readonly bigint[], { isForgetting = false } = {}): bigint[] {
      return sessions.filter((session) => {
        const before = bench.told.length;
        herd.heard(znode(n), session, client, isForgetting);
        return bench.told.length > before;
      });
    }

    it('tells a departure that wakes more than its own session and the two behind it', () => {
      herd.changed([], [znode(2)]);
      expect(herded(2, [1n, 2n, 3n, 4n, 5n])).to.deep.equal([1n, 5n]);
      expect(bench.told).to.deep.equal(['I6', 'I6']);
      expect(herd.told).to.equal(5);
      expect(herd.excused).to.equal(0);
    });

    it('counts the znodes that are left when the znode departs', () => {
      herd.changed([], [znode(3), znode(2)]);
      expect(herded(3, [2n, 4n, 5n])).to.deep.equal([2n]);
      expect(herded(2, [4n, 5n])).to.deep.equal([]);
    });

    it('accepts a watch that its client has not removed yet', () => {
      herd.changed([], [znode(3), znode(2)]);
      expect(herded(2, [3n])).to.deep.equal([]);
      herd.givesUp(znode(4), 4n);
      herd.changed([], [znode(4), znode(1)]);
      expect(herded(1, [4n])).to.deep.equal([4n]);
      expect(herded(1, [4n], { isForgetting: true })).to.deep.equal([]);
      expect(herd.excused).to.equal(2);
    });

    it('tells a waiter that gave up and has kept its watches, and does not hear of it from others', () => {
      herd.givesUp(znode(3), 7n);
      herd.givesUp(znode(4), 4n);
      herd.changed([], [znode(3), znode(4), znode(2)]);
      expect(herded(2, [3n, 4n])).to.deep.equal([4n]);
    });

    it('accepts the client that has asked this very holder to release', () => {
      herd.asked(znode(1), client);
      herd.asked(znode(2), {});
      herd.changed([], [znode(1), znode(2)]);
      expect(herded(1, [9n])).to.deep.equal([]);
      expect(herded(2, [9n])).to.deep.equal([9n]);
    });
  });

  describe('of idle clients', () => {
    const queue = [{ path: '/locks/a', is: 'mutex' }] as const;
    const client = (its: object) =>
      simClient({ client: { host: { isClosing: false }, session: { id: 3n, znodes: 1 } }, ...its });

    function waiting(places: readonly bigint[]): Quiet {
      bench.time = 0;
      bench.znodes.clear();
      const quiet = new Quiet(bench, queue, 1_000);
      for (const [index, session] of places.entries()) bench.znodes.set(znode(index), session);
      quiet.changed([...bench.znodes.keys()], []);
      bench.time = 1_301;
      return quiet;
    }

    function judged(quiet: Quiet, its: object): readonly string[] {
      quiet.wrote(client(its));
      quiet.look([]);
      return bench.told;
    }

    it('tells a transaction of a client that has nothing', () => {
      const its = { client: { host: { isClosing: false }, session: { id: 3n, znodes: 0 } } };
      expect(judged(waiting([]), { ...its, idleSince: 2 })).to.deep.equal([]);
      expect(judged(waiting([]), its)).to.deep.equal(['I10']);
    });

    it('counts from the moment when the client learns that its last znode is gone', () => {
      const quiet = waiting([3n]);
      const session = { id: 3n, znodes: 1 };
      const one = client({ client: { host: { isClosing: false }, session } });
      const wrote = (): readonly string[] => {
        quiet.wrote(one);
        quiet.look([one]);
        return bench.told;
      };
      Object.assign(one, { noteUse: () => (one.idleSince = bench.time) });
      quiet.changed([], [znode(0)]);
      quiet.look([one]);
      session.znodes = 0;
      bench.time += 1_300;
      expect(wrote()).to.deep.equal([]);
      bench.time += 1;
      expect(wrote()).to.deep.equal(['I10']);
    });

    it('accepts it from a client that opens a new session after an outage', () => {
      const its = { host: { isClosing: false }, session: { id: 3n, znodes: 0 } };
      expect(judged(waiting([]), { client: { ...its, state: 'lost' } })).to.deep.equal([]);
      expect(judged(waiting([]), { client: { ...its, state: 'reconnected' } })).to.deep.equal(['I10']);
    });

    it('tells a transaction of a client that waits behind two others', () => {
      expect(judged(waiting([1n, 2n, 3n]), { open: 1, waits: 1 })).to.deep.equal(['I10']);
    });

    it('accepts it from the next one, and from a client that does more than wait', () => {
      expect(judged(waiting([1n, 3n]), { open: 1, waits: 1 })).to.deep.equal([]);
      expect(judged(waiting([1n, 2n, 3n]), { open: 2, waits: 1 })).to.deep.equal([]);
      expect(judged(waiting([1n, 2n, 3n]), { open: 2, waits: 2 })).to.deep.equal([]);
    });

    it('accepts it from the two behind a departure, and not from the third', () => {
      const quiet = waiting([1n, 2n, 4n, 3n, 5n, 6n]);
      bench.znodes.delete(znode(1));
      quiet.changed([], [znode(1)]);
      expect(judged(quiet, { open: 1, waits: 1 })).to.deep.equal([]);
      expect(
        judged(quiet, { open: 1, waits: 1, client: { host: { isClosing: false }, session: { id: 5n, znodes: 1 } } }),
      ).to.deep.equal(['I10']);
    });
  });

  describe('of closed clients', () => {
    const none = { open: 0, late: 0 };

    it('tells a hold that outlives the close', () => {
      const claim = bench.claim(1);
      new Closed(bench, () => none).closed(claim.owner.client, [claim]);
      expect(bench.told).to.deep.equal(['close']);
    });

    for (const [what, left, connections] of [
      ['timer', { timers: 1 }, none],
      ['connection', {}, { open: 1, late: 0 }],
      ['second timer beside that of a late connection', { timers: 2 }, { open: 1, late: 1 }],
      ['second connection beside a late one', { timers: 1 }, { open: 2, late: 1 }],
    ] as const)
      it(`tells a ${what} that is left when its calls have ended`, () => {
        const client = simClient({ open: 1, ...left }) as { open: number } & ReturnType<typeof simClient>;
        const closed = new Closed(bench, () => connections);
        closed.closed(client, []);
        closed.look();
        expect(bench.told).to.deep.equal([]);
        client.open = 0;
        closed.look();
        expect(bench.told).to.deep.equal(['I9']);
      });

    it('accepts a late connection for two seconds, and not longer', () => {
      const process = processAt(0);
      const client = simClient({ process, timers: 1 });
      const closed = new Closed(bench, () => ({ open: 1, late: 1 }));
      closed.closed(client, []);
      const toldAt = (now: number, time = now): readonly string[] => {
        process.now = now;
        bench.time = time;
        closed.look();
        return bench.told;
      };
      expect(toldAt(0)).to.deep.equal([]);
      expect(toldAt(2_000)).to.deep.equal([]);
      // During a stall its clock shows the end, and no timer runs.
      process.stalledUntil = 9_000;
      expect(toldAt(9_000, 3_000)).to.deep.equal([]);
      expect(toldAt(9_005)).to.deep.equal([]);
      expect(toldAt(9_006)).to.deep.equal(['I9']);
    });

    it('tells a late connection of a process that ran all the time', () => {
      const process = processAt(0);
      const closed = new Closed(bench, () => ({ open: 1, late: 1 }));
      closed.closed(simClient({ process, timers: 1 }), []);
      closed.look();
      process.now = bench.time = 2_001;
      closed.look();
      expect(bench.told).to.deep.equal(['I9']);
    });

    it('tells a transaction after the end', () => {
      const client = simClient();
      const closed = new Closed(bench, () => none);
      closed.closed(client, []);
      closed.wrote(client);
      closed.look();
      expect(bench.told).to.deep.equal([]);
      closed.wrote(client);
      expect(bench.told).to.deep.equal(['I9']);
    });
  });

  it('finds an older znode that keeps a claim out, and a znode that is gone', () => {
    const claim = bench.claim(2);
    expect(olderThan(claim, bench)).to.equal(undefined);
    bench.znodes.set(znode(1), 7n);
    expect(olderThan(claim, bench)).to.equal(znode(1).slice('/locks/a/'.length));
    expect(judgeExistence(claim, 'was granted', bench)).to.equal(true);
    bench.znodes.delete(znode(2));
    expect(judgeExistence(claim, 'was granted', bench)).to.equal(false);
    expect(bench.told).to.deep.equal(['I2']);
  });
});

const shared = {};
const refused = new ZooKeeperError(-4, 'multi', '/');
