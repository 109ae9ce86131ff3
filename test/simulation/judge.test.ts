import { expect } from 'chai';
import type { Hold } from '../../src/index.ts';
import type { Claim } from '../../simulation/claim.ts';
import { Judge } from '../../simulation/judge.ts';
import { Recorder } from '../../simulation/recorder.ts';
import { Settling } from '../../simulation/settling.ts';
import { processAt, RuleBench, simClient, znode } from './support/rule-bench.ts';

describe('the judge of a simulation', () => {
  let bench: RuleBench;
  let judge: Judge;
  beforeEach(() => {
    bench = new RuleBench();
    const { now, committed } = bench;
    const recorder = new Recorder(now);
    const [paths, clients] = [['/locks/a'], ['p0c0']];
    recorder.events.push({ t: 0, type: 'run', seed: 1, minutes: 0, sessionTimeoutMs: 1_000, paths, clients });
    recorder.started('p0c0', 1);
    judge = new Judge({ now, committed, recorder, locks: [], sessionTimeoutMs: 1_000, mostDelayMs: 1 });
  });
  const told = (): string[] => judge.violations.map(({ check, text }) => `${check}: ${text}`);

  /** The grant of the n-th znode, which is gone soon after it. `lostBy`: it is lost before its code gets it. */
  function granted(n: number, client = simClient(), { deadline = 0, lostBy = '', isConnected = true } = {}): Granted {
    const { owner, hold } = bench.claim(n, { client });
    const call = { type: 'call', path: '/locks/a', kind: 'plain', flow: owner.flow } as const;
    judge.recorder.owner(client.name, owner.id, call);
    const aborter = new AbortController();
    if (lostBy !== '') aborter.abort({ reason: lostBy });
    const grant = { deadline, node: { session: { id: BigInt(n), isConnected } } };
    const claim = judge.granted(owner, Object.assign<Hold, object>(hold, { grant, signal: aborter.signal }));
    bench.znodes.delete(znode(n));
    return { claim, abort: (reason = 'node-deleted') => aborter.abort({ reason }) };
  }

  describe('of the history that it records', () => {
    const found = (): string[] => {
      judge.judgeHistory();
      return judge.violations.map(({ check }) => check);
    };

    it('tells two owners at once, and a token that does not grow', () => {
      const { claim } = granted(2);
      bench.time = 1;
      judge.released(claim);
      granted(1);
      expect(found()).to.deep.equal(['tokens']);
      bench.time = 2;
      const third = granted(3).claim;
      bench.time = 3;
      judge.released(third);
      expect(found()).to.include('overlaps');
    });

    it('judges the grants before the servers lost their data apart from those after it', () => {
      judge.released(granted(3).claim);
      bench.time = 0.5;
      granted(4);
      bench.time = 1;
      // The session of the first grant has ended before.
      judge.wiped([4n]);
      granted(1);
      judge.look();
      expect(found()).to.deep.equal([]);
      bench.time = 2;
      const last = granted(2).claim;
      bench.time = 3;
      judge.released(last);
      expect(found()).to.deep.equal(['overlaps']);
    });

    for (const [deadline, wakesAt, expected] of [
      [5, 9, ['overlaps']],
      [3, 9, []],
      [3, -4, ['overlaps']],
    ] as const)
      it(`looks for a process that stalls until ${wakesAt} at a hold until ${deadline}, with an owner at 3`, () => {
        const process = processAt(0);
        const { claim } = granted(1, simClient({ process }), { deadline });
        judge.recorder.fault({
          type: 'fault',
          fault: 'f1',
          kind: 'stall',
          target: '',
          clients: ['p0c0'],
          isStopped: true,
        });
        process.stalledUntil = wakesAt;
        process.now = bench.time = 3;
        Object.assign(claim, { at: -10 });
        granted(2);
        process.now = bench.time = 4;
        judge.look();
        bench.time = 20;
        judge.released(claim);
        expect(found()).to.deep.equal(expected);
      });

    it('tells a hold that its code got too late, unless another client took it', () => {
      granted(1, simClient(), { lostBy: 'session-deadline' });
      expect(found()).to.deep.equal(['granted-invalid']);
      granted(2, simClient(), { lostBy: 'forced' });
      judge.takenZnode(znode(3));
      granted(3, simClient(), { lostBy: 'node-deleted' });
      judge.violations.length = 0;
      expect(found()).to.deep.equal(['granted-invalid']);
    });
  });

  describe('of a hold whose znode is gone', () => {
    it('tells that it is valid', () => {
      granted(1, simClient(), { deadline: 1 });
      judge.deleted(znode(1));
      expect(told()).to.deep.equal(['I1: p0c0#1 (_c_1-lock-0000000001) is valid, and its znode is gone']);
    });

    it('accepts that it was released, told or taken, or that its code does not run', () => {
      bench.time = 10;
      judge.released(granted(1).claim);
      judge.losses.forced(znode(2));
      granted(2);
      judge.takenZnode(znode(3));
      granted(3);
      granted(4, simClient({ process: processAt(0, { isDead: true }) }));
      granted(5, simClient({ process: processAt(9, { stalledUntil: 9 }) }), { deadline: 8 });
      const { claim } = granted(6);
      claim.isTold = true;
      for (const n of [1, 2, 3, 4, 5, 6, 7]) judge.deleted(znode(n));
      expect(told()).to.deep.equal([]);
    });
  });

  describe('of a hold that a third party took', () => {
    it('tells that its holder was never told', () => {
      granted(1);
      judge.takenZnode(znode(1));
      granted(2);
      judge.takenSession(2n);
      expect(told()).to.deep.equal([]);
      judge.judgeEnd();
      expect(told()).to.deep.equal([
        'I8: p0c0#1 (_c_1-lock-0000000001) was never told that its znode is gone',
        'I8: p0c0#2 (_c_1-lock-0000000002) was never told that its znode is gone',
      ]);
    });

    it('accepts that its holder was told, has released it, or has crashed', () => {
      const heard = granted(1);
      judge.released(granted(2).claim);
      granted(3, simClient({ process: processAt(0, { isDead: true }) }));
      for (const n of [1, 2, 3]) judge.takenZnode(znode(n));
      heard.abort();
      judge.judgeEnd();
      expect(told()).to.deep.equal([]);
    });

    it('accepts a hold that nobody took', () => {
      granted(1);
      judge.judgeEnd();
      expect(told()).to.deep.equal([]);
    });
  });

  describe('of a lock that is granted without a connection', () => {
    /** The holder before it learns of a loss, and ends its job without a connection. */
    const grantedBehind = (lostBy: string): string[] => {
      const holder = granted(1, simClient(), { deadline: 9 });
      holder.abort(lostBy);
      Object.assign(holder.claim.hold.grant.node.session, { isConnected: false });
      judge.released(holder.claim);
      bench.znodes.set(znode(1), 2n);
      granted(2, simClient(), { isConnected: false });
      return told().filter((text) => text.startsWith('taken'));
    };

    it('tells one whose holder did not hand it over', () => {
      expect(grantedBehind('node-deleted')).to.deep.equal([
        'taken: p0c0#2 (_c_1-lock-0000000002) was handed its lock without a connection',
      ]);
    });

    it('accepts one that the end of a lease handed over, while there was a connection', () => {
      expect(grantedBehind('lease-expired')).to.deep.equal([]);
    });
  });

  describe('of calls', () => {
    /** A call settles after this time by the clock of its process. It is then 1,000 ms by the clock of the judge. */
    async function settledAfter(tookMs: number, limitMs: number | undefined, stalledUntil = -1): Promise<string[]> {
      const process = processAt(0, { stalledUntil });
      const settling = new Settling(judge);
      const client = simClient({ process });
      const settled = settling.inTime({ client, id: 'p0c0#1' }, 'acquire', Promise.resolve(), limitMs);
      process.now = tookMs;
      bench.time = 1_000;
      await settled;
      return told();
    }

    it('tells a call that settles late', async () => {
      expect(await settledAfter(103, 100)).to.deep.equal(['I4: p0c0#1 acquire settled 3 ms after its limit of 100 ms']);
    });

    it('accepts a call that settles in time, as a timer may be late by a little', async () => {
      expect(await settledAfter(102, 100)).to.deep.equal([]);
    });

    it('accepts a call that settles late after its process has stalled', async () => {
      expect(await settledAfter(103, 100, 999)).to.deep.equal([]);
      expect(await settledAfter(103, 100, 997)).to.have.lengthOf(1);
    });

    it('accepts a call that settles at any time if it has no limit, or tries once', async () => {
      expect(await settledAfter(1e9, undefined)).to.deep.equal([]);
      expect(await settledAfter(1e9, 0)).to.deep.equal([]);
    });

    it('tells a call that rejects with an error that no call may reject with', () => {
      const owner = bench.claim(1).owner;
      const settling = new Settling(judge);
      settling.failed(owner, 'acquire', Object.assign(new Error('late'), { code: 'ERR_LOCK_TIMEOUT' }));
      expect(told()).to.deep.equal([]);
      settling.failed(owner, 'acquire', new TypeError('broken'));
      expect(judge.violations.map(({ check }) => check)).to.deep.equal(['I4']);
    });
  });
});

interface Granted {
  readonly claim: Claim;
  /** The holder is told that its hold is lost. */
  readonly abort: (reason?: string) => void;
}
