import { expect } from 'chai';
import type { Hold } from '../../src/index.ts';
import type { Claim } from '../../simulation/claim.ts';
import { Judge } from '../../simulation/judge.ts';
import { Settling } from '../../simulation/settling.ts';
import { RuleBench, simClient, znode } from './support/rule-bench.ts';

describe('the judge of a simulation', () => {
  let bench: RuleBench;
  let judge: Judge;
  beforeEach(() => {
    bench = new RuleBench();
    const { now, committed } = bench;
    judge = new Judge({ now, committed, recorder: undefined, sessionTimeoutMs: 1_000 });
  });
  const told = (): string[] => judge.violations.map(({ check, text }) => `${check}: ${text}`);

  describe('of a hold that a third party took', () => {
    /** The grant of the n-th znode, which is gone soon after it. */
    function granted(n: number, client = simClient()): Granted {
      const { owner, hold } = bench.claim(n, { client });
      const aborter = new AbortController();
      const shared = { grant: { node: { session: { id: BigInt(n) } } } };
      const claim = judge.granted(owner, Object.assign<Hold, object>(hold, { shared, signal: aborter.signal }));
      bench.znodes.delete(znode(n));
      return { claim, abort: () => aborter.abort({ reason: 'node-deleted' }) };
    }

    it('tells that its holder was never told', () => {
      granted(1);
      judge.takenZnode(znode(1));
      granted(2);
      judge.takenSession(2n);
      expect(told()).to.deep.equal([]);
      judge.judgeEnd();
      expect(told()).to.deep.equal([
        'I8: p0c0 #1 (_c_1-lock-0000000001) was never told that its znode is gone',
        'I8: p0c0 #2 (_c_1-lock-0000000002) was never told that its znode is gone',
      ]);
    });

    it('accepts that its holder was told, has released it, or has crashed', () => {
      const heard = granted(1);
      judge.released(granted(2).claim);
      granted(3, simClient({ process: { now: 0, stalledUntil: -1, isDead: true } }));
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

  describe('of calls', () => {
    /** A call settles after this time by the clock of its process. It is then 1,000 ms by the clock of the judge. */
    async function settledAfter(tookMs: number, limitMs: number | undefined, stalledUntil = -1): Promise<string[]> {
      const process = { now: 0, stalledUntil, isDead: false };
      const settling = new Settling(judge);
      const client = simClient({ process });
      const settled = settling.inTime({ client, id: '#1' }, 'acquire', Promise.resolve(), limitMs);
      process.now = tookMs;
      bench.time = 1_000;
      await settled;
      return told();
    }

    it('tells a call that settles late', async () => {
      expect(await settledAfter(103, 100)).to.deep.equal([
        'I4: p0c0 #1 acquire settled 3 ms after its limit of 100 ms',
      ]);
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
  readonly abort: () => void;
}
