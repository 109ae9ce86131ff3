import { expect } from 'chai';
import { LockLostError, type LossReason, OutcomeUnknownError, RequestFailedError } from '../../src/index.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';
import { protectedPrefix } from '../../src/driver/names.ts';
import { encodeClaim } from '../../src/weighted/claim.ts';
import { weightedLockName } from '../../src/weighted/weighted-name.ts';
import type { Claim } from '../../simulation/claim.ts';
import type { Owner } from '../../simulation/owner.ts';
import type { LockPlan } from '../../simulation/plan.ts';
import { admittedTo } from '../../simulation/rules/admitted.ts';
import { Calls } from '../../simulation/rules/calls.ts';
import { Closed } from '../../simulation/rules/closed.ts';
import { GuardedWrites } from '../../simulation/rules/guarded-writes.ts';
import { Herd } from '../../simulation/rules/herd.ts';
import { Leases } from '../../simulation/rules/leases.ts';
import { Losses } from '../../simulation/rules/losses.ts';
import { judgeExistence, olderThan } from '../../simulation/rules/order.ts';
import { MultiLocks, type Together } from '../../simulation/rules/multi-locks.ts';
import { Places } from '../../simulation/rules/places.ts';
import { Quiet } from '../../simulation/rules/quiet.ts';
import { ReEntry } from '../../simulation/rules/re-entry.ts';
import { Refusals } from '../../simulation/rules/refusals.ts';
import { Revocations } from '../../simulation/rules/revocations.ts';
import { SentOnce } from '../../simulation/rules/sent-once.ts';
import { Taken } from '../../simulation/rules/taken.ts';
import { Terms } from '../../simulation/rules/terms.ts';
import { Woken } from '../../simulation/rules/woken.ts';
import { RecordWriter } from '../../lab/wire/record.ts';
import { encode, type Item, type Request } from '../../lab/wire/request.ts';
import { RuleBench, processAt, simClient, znode } from './support/rule-bench.ts';

/** The name of a child of a lock with weights, where one overtake is allowed for each step of weight. */
function weighted(weight: number, sequence: number): string {
  const uuid = '6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a';
  return `${protectedPrefix(uuid, weightedLockName(weight, 1))}${String(sequence).padStart(10, '0')}`;
}

function claimedBy(holder: string, ...overtakers: number[]): Buffer {
  return encodeClaim({ holder, overtakers });
}

describe('the judge of a simulation', () => {
  let bench: RuleBench;
  beforeEach(() => (bench = new RuleBench()));

  it('tells each refusal for which there is no reason', () => {
    const owner = {
      id: 'p0c0#1',
      lock: { path: '/locks/a' },
      call: { how: 'plain', timeoutMs: 1_000 },
      client: { process: { now: 0 } },
      library: { host: { isClosing: false } },
    } as unknown as Owner;
    const unknown = new ZooKeeperError(-6, 'create2', '/locks/a');
    const told = (error: unknown, isWiped = false): string[] => {
      const alone = new RuleBench();
      const refusals = new Refusals(alone);
      if (isWiped) refusals.wiped();
      refusals.begin(owner)(error);
      return alone.told;
    };
    for (const error of [
      new RequestFailedError('The lock cannot be acquired', unknown, undefined),
      { code: 'ERR_LOCK_TIMEOUT' },
      { code: 'ERR_LOCK_CLIENT_CLOSED' },
      { code: 'ERR_LOCK_LOST' },
    ])
      expect(told(error)).to.deep.equal(['refusal']);
    expect(told({ code: 'ERR_LOCK_DEADLOCK' })).to.be.empty;
    const uncounted = (error: number): unknown =>
      new RequestFailedError('The shared count /count cannot be read', new ZooKeeperError(error, 'getData', '/count'));
    expect(told(uncounted(-101))).to.deep.equal(['refusal']);
    expect(told(uncounted(-101), true)).to.be.empty;
    expect(told(uncounted(-4), true)).to.deep.equal(['refusal']);
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

    describe('with a create whose answer was lost', () => {
      const late = `/locks/a/_c_1-lock-${'2'.padStart(10, '0')}`;
      const present = `/locks/a/_c_2-lock-${'1'.padStart(10, '0')}`;
      const connectedAt = new Map<bigint, number>();
      const ask = (path: string): void => {
        bench.time += 1;
        places.asked(path.slice(0, -10), simClient({ connectedAt }));
      };
      beforeEach(() => {
        connectedAt.clear();
        ask(late);
      });

      it('accepts that it is carried out after the next one of its waiter', () => {
        ask(present);
        expect(places.created(present)).to.equal('p0c0#1 at /locks/a');
        expect(places.created(late)).to.equal(undefined);
        expect(bench.told).to.deep.equal([]);
      });

      it('accepts that it is carried out after its client has connected again', () => {
        connectedAt.set(1n, 2);
        places.created(late);
        ask(present);
        places.created(present);
        expect(bench.told).to.deep.equal([]);
      });

      it('tells that its waiter does not wait with it, if it was carried out before', () => {
        places.created(late);
        connectedAt.set(1n, 2);
        ask(present);
        places.created(present);
        expect(bench.told).to.deep.equal(['place']);
      });
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
      const claim = Object.assign(bench.claim(1), { isTold: true });
      const [before, after] = [writes.begin([claim], false), writes.begin([claim], false)];
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

    it('tells a write that is refused as lost, although its hold goes on', () => {
      const writes = new GuardedWrites(bench, wrote);
      writes.failed(writes.begin([bench.claim(1)], false), lost);
      expect(bench.told).to.deep.equal(['guarded']);
    });

    it('tells a write that is sent after the release of its hold', () => {
      const writes = new GuardedWrites(bench, wrote);
      const claim = bench.claim(1);
      const { prefix } = writes.begin([claim], false);
      writes.sent(Buffer.from(`..${prefix}..`));
      expect(bench.told).to.deep.equal([]);
      claim.isReleased = true;
      writes.sent(Buffer.from(`..${prefix}..`));
      expect(bench.told).to.deep.equal(['guarded']);
    });

    it('does not know an error that no commit rejects with', () => {
      const writes = new GuardedWrites(bench, wrote);
      expect(writes.failed(writes.begin([bench.claim(1)], false), new Error('other'))).to.equal(false);
    });
  });

  describe('of the calls of one client', () => {
    const client = simClient({ client: { session: { isConnected: true } } });
    const call = (n: number, timeoutMs = 1_000): Claim['owner'] =>
      bench.claim(n, { client, call: { how: 'plain', timeoutMs } }).owner;
    let calls: Calls;
    beforeEach(() => {
      calls = new Calls(bench, [{ path: '/locks/a', is: 'mutex' }], 10);
      bench.znodes.set('/locks/a', 0n);
    });

    /** Two calls, the second of which joins the queue first. */
    const overtaken = (disturb = (): void => undefined, timeoutMs = 1_000): string[] => {
      calls.called(call(1, timeoutMs));
      calls.called(call(2));
      disturb();
      calls.created('p0c0#2 at /locks/a');
      calls.created('p0c0#1 at /locks/a');
      return bench.told;
    };

    it('tells a call that joins the queue before an earlier one', () => {
      expect(overtaken()).to.deep.equal(['calls']);
    });

    it('excuses a call that a fault or a missing path has delayed', () => {
      expect(overtaken(() => calls.hurt(['p0c0'], 1))).to.deep.equal([]);
      bench.time = 100;
      expect(overtaken(() => calls.changed(['/locks/a']))).to.deep.equal([]);
    });

    it('excuses a call that may not wait, because it looks at the queue first', () => {
      expect(overtaken(undefined, 0)).to.deep.equal([]);
    });
  });

  describe('of znodes that a third party deletes', () => {
    let taken: Taken;
    beforeEach(() => (taken = new Taken(bench, { sessionTimeoutMs: 1_000, mostDelayMs: 1 })));
    const grantedAfter = (connectedAt: number, isConnected: boolean): Claim => {
      const client = simClient({ connectedAt: new Map([[2n, connectedAt]]) });
      const grant = { node: { session: { isConnected } } };
      const claim = bench.claim(2, { client, grant });
      taken.granted(claim);
      return claim;
    };

    it('tells a lock that is handed over without a connection', () => {
      grantedAfter(0, false);
      expect(bench.told).to.deep.equal([]);
      bench.znodes.set(znode(1), 2n);
      grantedAfter(0, true);
      expect(bench.told).to.deep.equal([]);
      grantedAfter(0, false);
      expect(bench.told).to.deep.equal(['taken']);
    });

    it('tells no hand-over that began with a connection, which ended before the grant', () => {
      const handedOver = (isConnected: boolean, calledLaterMs = 0): string[] => {
        taken.handedOver(bench.claim(1, { grant: { node: { session: { isConnected } } } }));
        bench.znodes.set(znode(1), 2n);
        bench.time += calledLaterMs;
        grantedAfter(0, false);
        return bench.told.splice(0);
      };
      expect(handedOver(true)).to.deep.equal([]);
      // Its call came after that release, so another one must have handed it over.
      expect(handedOver(true, 1)).to.deep.equal(['taken']);
      expect(handedOver(true)).to.deep.equal([]);
      expect(handedOver(false)).to.deep.equal(['taken']);
      // A later term of `lead` is called when it is granted.
      taken.created(znode(2));
      expect(handedOver(true, 1)).to.deep.equal([]);
    });

    it('tells the grant of a znode that was gone before the connection began', () => {
      bench.time = 100;
      taken.taken(znode(2));
      grantedAfter(110, true);
      expect(bench.told).to.deep.equal([]);
      grantedAfter(200, true);
      expect(bench.told).to.deep.equal(['taken']);
    });

    it('accepts the hand-over of a znode that was gone before its waiter watched it', () => {
      taken.taken(znode(2));
      bench.znodes.set(znode(1), 2n);
      bench.time = 1_200;
      grantedAfter(200, true);
      expect(bench.told).to.deep.equal([]);
      bench.time = 1_400;
      grantedAfter(200, true);
      expect(bench.told).to.deep.equal(['taken']);
    });

    it('tells a holder that goes on after its client has got the event', () => {
      const claim = grantedAfter(0, true);
      taken.heard([claim], claim.path, 2n); // it has just been granted, and does not watch yet
      bench.time = 1_000;
      taken.heard([claim], claim.path, 1n);
      taken.look();
      expect(bench.told).to.deep.equal([]);
      taken.heard([claim], claim.path, 2n);
      taken.look();
      expect(bench.told).to.deep.equal(['taken']);
    });
  });

  describe('of requests that are sent twice', () => {
    const client = simClient();
    const [create, remove, check] = [
      { op: 'create2', path: '/locks/a/_c_1-lock-', flags: 3 },
      { op: 'delete', path: znode(1) },
      { op: 'check', path: znode(2) },
    ] as const;
    const write = { op: 'setData', path: '/locks/a', data: 'p0c0' } as const;
    let once: SentOnce;
    let isOpen: boolean;
    let xid: number;
    beforeEach(() => {
      once = new SentOnce(bench);
      [isOpen, xid] = [true, 0];
    });
    const bodyOf = (request: Request): Buffer => encode((xid += 1), request).subarray(4);
    const sent = (request: Request): number => {
      once.sent(client, { op: 'unknown', body: bodyOf(request), isOnItsWay: () => isOpen });
      return bench.told.length;
    };
    const answered = (request: Request, err: number, result = 0): void => {
      once.answered(client, bodyOf(request), {
        err,
        body: new RecordWriter().raw(Buffer.alloc(16)).int(result).body(),
      });
    };
    const multi = (...items: Item[]): Request => ({ op: 'multi', items });

    it('tells a create whose answer was lost, or which was done, and a transaction with one', () => {
      for (const request of [create, multi(check, create), multi(check, remove)]) {
        sent(request);
        isOpen = false;
        expect(sent(request)).to.equal(1);
        answered(request, 0);
        expect(sent(request)).to.equal(2);
        bench.told.length = 0;
      }
    });

    it('accepts a request that the servers have refused, and no other answer with an error', () => {
      for (const error of [-127, -101]) {
        sent(create);
        answered(create, error);
        expect(sent(create)).to.equal(0);
        answered(create, error);
      }
      sent(create);
      answered(create, -118);
      expect(sent(create)).to.equal(1);
      sent(multi(check, remove));
      answered(multi(check, remove), 0, -1);
      expect(sent(multi(check, remove))).to.equal(1);
    });

    it('accepts a write of one version whose connection ended without the answer', () => {
      for (const request of [{ ...write, version: 3 } as const, multi(check, { ...write, version: 3 })]) {
        sent(request);
        isOpen = false;
        expect(sent(request)).to.equal(0);
        isOpen = true;
        expect(sent(request)).to.equal(1);
        answered(request, 0);
        isOpen = false;
        expect(sent(request)).to.equal(2);
        bench.told.length = 0;
      }
    });

    it('judges no check, no delete, no parent, no write without a version, and each client for itself', () => {
      const requests: Request[] = [multi(check), remove, write, { op: 'createContainer', path: '/locks' }];
      for (const request of [...requests, { op: 'create', path: '/locks' } as const]) {
        sent(request);
        expect(sent(request)).to.equal(0);
      }
      sent(create);
      once.sent(simClient(), { op: 'unknown', body: bodyOf(create), isOnItsWay: () => isOpen });
      expect(bench.told).to.deep.equal([]);
    });
  });

  describe('of leaders', () => {
    const term = (lead: object, claim: Claim): Parameters<Terms['begin']>[0] => {
      const { signal } = new AbortController();
      return { lead, claim, stop: signal, caller: signal };
    };

    it('tells two jobs of one lead at once', () => {
      const terms = new Terms(bench);
      const lead = {};
      const end = terms.begin(term(lead, bench.claim(1)));
      terms.begin(term({}, bench.claim(2)));
      end(false);
      terms.begin(term(lead, bench.claim(3)));
      expect(bench.told).to.deep.equal([]);
      terms.begin(term(lead, bench.claim(4)));
      expect(bench.told).to.deep.equal(['term']);
    });

    it('tells a job after one that has failed while it led', () => {
      const terms = new Terms(bench);
      const [lost, leading] = [bench.claim(1), bench.claim(2)];
      const lead = {};
      terms.begin(term(lead, lost))(true);
      lost.isTold = true;
      terms.begin(term(lead, leading))(true);
      expect(bench.told).to.deep.equal([]);
      terms.begin(term(lead, bench.claim(3)));
      expect(bench.told).to.deep.equal(['term']);
    });

    it('tells a job whose signal does not abort when its caller gives up', () => {
      const terms = new Terms(bench);
      terms.begin({ ...term({}, bench.claim(1)), caller: AbortSignal.abort() });
      terms.look();
      expect(bench.told).to.deep.equal(['I8']);
    });

    it('tells a job whose signal does not abort with its term', () => {
      const terms = new Terms(bench);
      const [heard, deaf] = [bench.claim(1), bench.claim(2)];
      terms.begin({ ...term({}, heard), stop: AbortSignal.abort() });
      terms.begin(term({}, deaf));
      terms.look();
      expect(bench.told).to.deep.equal([]);
      heard.isTold = deaf.isTold = true;
      terms.look();
      expect(bench.told).to.deep.equal(['I8']);
    });
  });

  describe('of multi-locks', () => {
    let multiLocks: MultiLocks;
    beforeEach(() => (multiLocks = new MultiLocks(bench)));

    /** A hold that says what it is told to, and whose code has that signal. */
    function granted({ error, stop = AbortSignal.abort() }: { error?: Error; stop?: AbortSignal } = {}): Together {
      const assertValid = (): void => {
        if (error) throw error;
      };
      const together = { claims: [bench.claim(1), bench.claim(2)], hold: { assertValid }, stop };
      multiLocks.granted(together);
      return together;
    }
    const lost = new LockLostError('/locks/a', 'node-deleted', {}, 'it is gone');
    const told = (together: Together, how: object): string[] => {
      Object.assign(together.claims[1] as Claim, how);
      multiLocks.look();
      return bench.told;
    };

    it('tells a hold that does not say, or whose signal does not abort, when its second lock is lost', () => {
      expect(told(granted({ error: lost }), { isTold: true })).to.deep.equal([]);
      expect(told(granted(), { isTold: true })).to.deep.equal(['multi']);
      expect(told(granted({ error: lost, stop: new AbortController().signal }), { isTold: true })).to.have.length(2);
      expect(told(granted({ error: new Error('released') }), { isTold: true })).to.have.length(3);
    });

    it('tells a hold that is lost although none of its locks is', () => {
      expect(told(granted({ stop: new AbortController().signal }), {})).to.deep.equal([]);
      expect(told(granted(), {})).to.deep.equal(['multi']);
    });

    it('accepts a loss after the release, and of a process that has crashed', () => {
      expect(told(granted({ stop: new AbortController().signal }), { isReleased: true, isTold: true })).to.have.length(
        0,
      );
      const crashed = bench.claim(3, { client: simClient({ process: processAt(0, { isDead: true }) }) });
      expect(told(granted(), { owner: crashed.owner })).to.deep.equal([]);
    });

    it('tells a grant after one of its locks was lost, unless that was in the same event', () => {
      multiLocks.lost(znode(2));
      granted({ stop: new AbortController().signal });
      expect(bench.told).to.deep.equal([]);
      bench.time += 1;
      multiLocks.lost(znode(2));
      granted({ stop: new AbortController().signal });
      expect(bench.told).to.deep.equal(['multi']);
    });

    it('tells a release that does not say that one of its locks was lost', () => {
      const together = granted({ error: lost });
      multiLocks.released(together, 'released');
      expect(told(together, { isTold: true })).to.deep.equal([]);
      multiLocks.released(together, 'lost');
      expect(bench.told).to.deep.equal([]);
      multiLocks.released(together, 'released');
      expect(bench.told).to.deep.equal(['multi']);
    });
  });

  describe('of re-entry', () => {
    it('accepts a re-entry inside the flow that has the lock', () => {
      const reEntry = new ReEntry(bench);
      const outer = bench.claim(1, { flow: 'f', grant });
      const inner = bench.claim(1, { flow: 'f', grant, isReentrant: true });
      reEntry.granted(outer);
      reEntry.granted(inner);
      reEntry.nested(outer, inner);
      expect(bench.told).to.deep.equal([]);
    });

    it('tells a re-entry into a lock that was released', () => {
      const reEntry = new ReEntry(bench);
      const outer = bench.claim(1, { flow: 'f', grant });
      reEntry.granted(outer);
      outer.isReleased = true;
      reEntry.granted(bench.claim(1, { flow: 'f', grant, isReentrant: true }));
      expect(bench.told).to.deep.equal(['I7']);
    });

    it('tells code inside the flow that gets a lock of its own', () => {
      new ReEntry(bench).nested(bench.claim(1, { grant }), bench.claim(2));
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
    revocations.answered(heard.hold.grant);
    bench.time = 1_000;
    revocations.released(deaf);
    bench.time = 1_001;
    revocations.released(heard);
    expect(bench.told).to.deep.equal([]);
    revocations.released(deaf);
    expect(bench.told).to.deep.equal(['revocation']);
  });

  describe('of waiters that are first', () => {
    const [first, second] = [znode(1), znode(2)];
    const terms = { sessionTimeoutMs: 4_000, mostDelayMs: 1 };
    let losses: Losses;
    let woken: Woken;
    beforeEach(() => {
      bench.time = 20_000;
      losses = new Losses(bench, terms);
      woken = new Woken(bench, losses, [{ path: '/locks/a', is: 'mutex' }], terms.sessionTimeoutMs);
      for (const [index, path] of [first, second].entries()) {
        bench.znodes.set(path, BigInt(index + 1));
        woken.changed([path]);
      }
    });
    const grantAfter = (ms: number, its: object = {}): string[] => {
      bench.znodes.delete(first);
      woken.changed([first]);
      bench.time += ms;
      woken.granted({ ...bench.claim(2), calledAt: 0, ...its });
      return bench.told;
    };

    it('tells one that is granted its lock more than half a timeout later', () => {
      expect(grantAfter(2_401)).to.deep.equal(['I4']);
    });

    it('accepts one that is granted its lock soon, or that called or connected later', () => {
      expect(grantAfter(2_400)).to.deep.equal([]);
      expect(grantAfter(1_000, { calledAt: 21_000 })).to.deep.equal([]);
      const client = simClient({ connectedAt: new Map([[2n, 22_000]]) });
      expect(grantAfter(1_000, bench.claim(2, { client }))).to.deep.equal([]);
    });

    it('judges no re-entry, no later grant of one znode, and no part of a multi-lock', () => {
      for (const made of [{ isReentrant: true }, { grantNumber: 1n }, { call: { how: 'multi' as const } }])
        expect(grantAfter(2_401, bench.claim(2, made))).to.deep.equal([]);
    });

    it('accepts one that a fault may have kept from the news', () => {
      losses.hurt(['p0c0'], 10, 'delay');
      expect(grantAfter(2_500)).to.deep.equal([]);
    });

    /** The names of the znodes that are admitted to a lock: with these children, each with its session, and these data. */
    const admitted = (
      lock: LockPlan,
      children: Readonly<Record<string, bigint>>,
      data?: [string, Buffer],
    ): string[] => {
      bench.znodes.clear();
      for (const [name, session] of Object.entries(children)) bench.znodes.set(`/locks/a/${name}`, session);
      if (data) bench.data.set(...data);
      return admittedTo(lock, bench.committed()).map(({ path }) => path.slice('/locks/a/'.length));
    };

    it('knows whom a semaphore has room for', () => {
      const [one, two, turn] = ['leases/l-0000000001', 'leases/l-0000000002', 'locks/l-0000000007'];
      const [path, sharedCount] = ['/locks/a', '/count'];
      const fixed: LockPlan = { path, is: 'semaphore', maxLeases: 2 };
      const later = 'locks/l-0000000008';
      expect(admitted(fixed, { [two]: 2n, [later]: 4n, [turn]: 3n })).to.deep.equal([two, turn]);
      expect(admitted(fixed, { [two]: 2n, [one]: 1n, [turn]: 3n })).to.deep.equal([one, two]);
      expect(admitted({ path, is: 'semaphore-mutex' }, { [two]: 2n, [one]: 1n, [turn]: 3n })).to.deep.equal([one]);
      expect(admitted({ path, is: 'semaphore-mutex' }, { [turn]: 3n })).to.deep.equal([turn]);
      const shared: LockPlan = { path, is: 'semaphore', maxLeases: 2, sharedCount };
      expect(admitted(shared, { [one]: 1n, [turn]: 3n })).to.deep.equal([]);
      const count = Buffer.from([0, 0, 0, 1]);
      expect(admitted(shared, { [two]: 2n, [one]: 1n, [turn]: 3n }, [sharedCount, count])).to.deep.equal([one]);
    });

    it('knows whom the rule of weights lets in', () => {
      const [light, heavy, other] = [weighted(1, 1), weighted(2, 2), weighted(2, 3)];
      const lock: LockPlan = { path: '/locks/a', is: 'weighted', overtakesPerWeight: 1 };
      const all = { [light]: 1n, [other]: 3n, [heavy]: 2n };
      expect(admitted(lock, all)).to.deep.equal([heavy]);
      expect(admitted(lock, all, ['/locks/a', claimedBy(other)])).to.deep.equal([other]);
      // The light one was overtaken once, which is its limit.
      expect(admitted(lock, all, ['/locks/a', claimedBy(weighted(2, 4), 4)])).to.deep.equal([light]);
      expect(admitted(lock, {})).to.deep.equal([]);
    });

    it('counts from the turn in which a lease was created, and again after the count was too small', () => {
      const lock: LockPlan = { path: '/locks/a', is: 'semaphore', maxLeases: 2, sharedCount: '/count' };
      const turn = '/locks/a/locks/l-0000000001';
      const lease = '/locks/a/leases/l-0000000000';
      const write = (count: number): void => {
        bench.data.set('/count', Buffer.from([0, 0, 0, count]));
        semaphore.changed(['/count']);
      };
      const grant = (ofTwo = ''): string[] => {
        const made = { lock, call: { how: ofTwo === '' ? ('plain' as const) : ('many' as const) } };
        const claim = bench.claim(1, made);
        semaphore.granted({ ...claim, owner: { ...claim.owner, id: `p0c0#1${ofTwo}` }, path: lease, calledAt: 0 });
        return bench.told.splice(0);
      };
      const semaphore = new Woken(bench, losses, [lock], terms.sessionTimeoutMs);
      write(1);
      bench.znodes.set(turn, 1n);
      semaphore.changed([turn]);
      bench.time += 2_401;
      bench.znodes.set(lease, 1n);
      semaphore.changed([lease]);
      expect(grant()).to.deep.equal(['I4']);
      // The first of two leases waits for the second one.
      expect(grant('.0')).to.deep.equal([]);
      expect(grant('.1')).to.deep.equal(['I4']);
      write(0);
      expect(grant()).to.deep.equal([]);
      write(1);
      expect(grant()).to.deep.equal([]);
    });

    it('accepts one whose process did not run, and one behind another of its own process', () => {
      const client = simClient({ process: processAt(0, { stalledUntil: 22_000 }) });
      expect(grantAfter(2_500, bench.claim(2, { client }))).to.deep.equal([]);
      expect(grantAfter(5_000, { path: znode(3) })).to.deep.equal([]);
    });
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

    it('accepts once that a client is suspended after it gave up a connection in a fault, and not after one in a calm network', () => {
      losses.gaveUp('p0c0');
      losses.hurt(['p0c1'], 0, 'delay');
      losses.gaveUp('p0c1');
      bench.time += 20_000;
      losses.changed('p0c1', 'reconnected');
      losses.changed('p0c1', 'suspended');
      expect(bench.told).to.deep.equal([]);
      losses.changed('p0c0', 'suspended');
      losses.changed('p0c1', 'suspended');
      expect(bench.told).to.deep.equal(['I11', 'I11']);
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
    const lease = '/locks/b/leases/_c_1-lease-0000000001';
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

    it('accepts it from a client whose create was carried out long after its call, until that znode is gone', () => {
      const its = { client: { host: { isClosing: false }, session: { id: 3n, znodes: 0 } } };
      const quiet = waiting([]);
      bench.znodes.set(lease, 3n);
      quiet.changed([lease], []);
      bench.time += 1_301;
      expect(judged(quiet, its)).to.deep.equal([]);
      bench.znodes.delete(lease);
      quiet.changed([], [lease]);
      bench.time += 1_300;
      expect(judged(quiet, its)).to.deep.equal([]);
      bench.time += 1;
      expect(judged(quiet, its)).to.deep.equal(['I10']);
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

const grant = {};
const refused = new ZooKeeperError(-4, 'multi', '/');
