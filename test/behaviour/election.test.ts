import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import {
  ForeignNodeError,
  InterProcessMutex,
  LeaderElection,
  lockContext,
  LockLostError,
  LockTimeoutError,
  revoke,
  watchQueue,
  type Candidate,
  type Hold,
  type LeaderElectionOptions,
  type LockEvent,
} from '../../src/index.ts';
import { gate } from '../../lab/gate.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { once, sent } from '../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';

describe('an election', () => {
  const lab = labOfEachTest('election', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });

  const ours = (options: LeaderElectionOptions = {}): LeaderElection =>
    new LeaderElection(lab.client, lab.path, { id: 'ours', ...options });
  const theirs = (options: LeaderElectionOptions = {}): LeaderElection =>
    new LeaderElection(lab.other, lab.path, { id: 'theirs', ...options });

  for (const [protocol, name] of [
    ['latch', 'latch-'],
    ['selector', 'lock-'],
  ] as const)
    it(`of the protocol ${protocol} has znodes as Curator's, with the id as data`, async () => {
      const term = await ours({ protocol, id: 'host-7' }).campaign();
      expect(term.path.slice(lab.path.length)).to.match(new RegExp(`^/_c_[0-9a-f-]{36}-${name}\\d{10}$`));
      expect(await lab.observer.read(term.path)).to.equal('host-7');
      await term.release();
      expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    });

  it('elects the candidates in the order in which they came', async () => {
    const order: string[] = [];
    const first = await ours().campaign();
    const waiting = [];
    for (const [index, election] of [theirs(), ours({ id: 'third' })].entries()) {
      waiting.push(election.lead(() => order.push(election.id)));
      await lab.queueReaches(index + 2);
    }
    const all = await ours().participants();
    expect(all.map(({ id, isLeader }) => [id, isLeader])).to.deep.equal([
      ['ours', true],
      ['theirs', false],
      ['third', false],
    ]);
    expect((await theirs().leader())?.path).to.equal(first.path);
    await first.release();
    await Promise.all(waiting);
    expect(order).to.deep.equal(['theirs', 'third']);
    expect(await ours().leader()).to.equal(undefined);
  });

  it('gives terms that are holds: a loss aborts the signal, and a transaction is done as the leader or not at all', async () => {
    await using term = await ours().campaign();
    await term.transaction().create(`${lab.path}-config`, Buffer.from('by the leader')).commit();
    expect(term.fencingToken).to.be.a('bigint');
    const late = term.transaction().setData(`${lab.path}-config`, Buffer.from('late'));
    const loss = aborted(term.signal);
    await lab.observer.remove(term.path);
    expect(await loss).to.be.instanceOf(LockLostError);
    expect(term.isValid).to.equal(false);
    expect(await rejection(late.commit())).to.be.instanceOf(LockLostError);
  });

  it('rejects a campaign at its timeout, and leaves no candidate', async () => {
    await using _term = await theirs().campaign();
    expect(await rejection(ours().campaign({ timeoutMs: 50 }))).to.be.instanceOf(LockTimeoutError);
    expect(await rejection(ours().lead(() => 1, { timeoutMs: 50 }))).to.be.instanceOf(LockTimeoutError);
    await lab.queueReaches(1);
  });

  it('hands over in one round trip: one delete, one event, and the next job runs without a request', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 20_000 });
    const next = new LeaderElection(client, lab.path, { id: 'next' });
    const term = await theirs().campaign();
    const job = gate();
    const leading = next.lead(() => job.open());
    await lab.queueReaches(2);
    // It has its answers, and so its watches.
    await next.participants();
    const connection = lab.proxy.frames.findLast(({ op }) => op === 'connect')?.connection;
    lab.proxy.clear();
    await term.release();
    await job.opened;
    const frames = lab.proxy.frames.filter((frame) => frame.connection === connection && frame.op !== 'ping');
    const before = frames.slice(0, frames.findIndex(({ op }) => op === 'watch') + 1);
    expect(before.map(({ op }) => op)).to.deep.equal(['watch']);
    expect(frames.filter(({ op }) => op === 'getChildren2')).to.deep.equal([]);
    await leading;
  });

  describe('lead', () => {
    it('returns the result of the job, and resigns at its end', async () => {
      const seen: boolean[] = [];
      const result = await ours().lead(async (term) => {
        seen.push(term.isValid, (await theirs().leader())?.id === 'ours');
        return 7;
      });
      expect([result, ...seen]).to.deep.equal([7, true, true]);
      expect(await theirs().leader()).to.equal(undefined);
    });

    it('rejects with the error of the job, and resigns', async () => {
      const fault = new Error('fault');
      expect(await rejection(ours().lead(() => Promise.reject(fault), { requeue: true }))).to.equal(fault);
      expect(await theirs().leader()).to.equal(undefined);
    });

    it('runs the job in a lock context that leads: a campaign inside re-enters', async () => {
      const election = ours();
      await election.lead(async (term) => {
        const inner = await election.campaign();
        expect([inner.isReentrant, inner.path]).to.deep.equal([true, term.path]);
        await inner.release();
        expect(term.isValid).to.equal(true);
      });
    });

    it('with requeue leads again after each job, behind the candidates that wait', async () => {
      const controller = new AbortController();
      const order: string[] = [];
      const jobOf = (id: string) => async (): Promise<void> => {
        order.push(id);
        if (order.length === 6) controller.abort(new Error('enough'));
        if (order.length < 6) await lab.queueReaches(2);
      };
      const { signal } = controller;
      const both = [ours(), theirs()].map((election) =>
        rejection(election.lead(jobOf(election.id), { requeue: true, signal })),
      );
      expect((await Promise.all(both)).map(({ message }) => message)).to.deep.equal(['enough', 'enough']);
      const [first, second] = order;
      expect(new Set([first, second])).to.have.property('size', 2);
      expect(order).to.deep.equal([first, second, first, second, first, second]);
      // The candidate that waited deletes its znode in the background.
      await lab.queueReaches(0);
    });

    it('with requeue runs each job in a lock context that leads: a campaign in the second one re-enters', async () => {
      const election = ours();
      const enough = new Error('enough');
      const seen: boolean[] = [];
      const job = async (term: Hold): Promise<void> => {
        await using inner = await election.campaign({ timeoutMs: 1_000 });
        seen.push(inner.isReentrant && inner.path === term.path);
        if (seen.length === 2) throw enough;
      };
      expect(await rejection(election.lead(job, { requeue: true }))).to.equal(enough);
      expect(seen).to.deep.equal([true, true]);
    });

    it('with requeue leaves no listener on the signal, however many terms there were', async () => {
      const controller = new AbortController();
      let terms = 0;
      const job = (): void => {
        if ((terms += 1) === 3) throw new Error('enough');
      };
      const { signal } = controller;
      expect((await rejection(ours().lead(job, { requeue: true, signal }))).message).to.equal('enough');
      expect(getEventListeners(signal, 'abort')).to.deep.equal([]);
    });

    it('with requeue leads again after a loss, when the job of the lost term has settled', async () => {
      const controller = new AbortController();
      const terms: Hold[] = [];
      let isRunning = false;
      const leading = ours().lead(
        async (term, stop) => {
          expect(isRunning, 'two jobs at once').to.equal(false);
          isRunning = true;
          terms.push(term);
          if (terms.length === 1) await lab.observer.remove(term.path);
          else controller.abort(new Error('enough'));
          await aborted(stop);
          isRunning = false;
          stop.throwIfAborted();
        },
        { requeue: true, signal: controller.signal },
      );
      expect((await rejection(leading)).message).to.equal('enough');
      expect(terms.map(({ path }) => path.slice(-1))).to.deep.equal(['0', '1']);
    });

    it('with requeue leads again after a lost term whose job has failed with an error of its own', async () => {
      const warnings: string[] = [];
      const logger = { warn: (_details: object, text: string) => void warnings.push(text) };
      const client = await lab.connect({ logger });
      const fault = new Error('the database refused a stale leader');
      let terms = 0;
      const leading = new LeaderElection(client, lab.path).lead(
        async (term, stop) => {
          terms += 1;
          if (terms === 2) throw new Error('of a term that is held');
          await lab.observer.remove(term.path);
          await aborted(stop);
          throw fault;
        },
        { requeue: true },
      );
      expect((await rejection(leading)).message).to.equal('of a term that is held');
      expect(warnings.join('\n')).to.contain('the database refused a stale leader');
    });

    it('without requeue rejects with the loss', async () => {
      const leading = ours().lead(async (term, stop) => {
        await lab.observer.remove(term.path);
        await aborted(stop);
      });
      expect(await rejection(leading))
        .to.be.instanceOf(LockLostError)
        .and.to.include({ reason: 'node-deleted' });
    });

    it('stops the job when the caller aborts, while the term stays valid until the job has ended', async () => {
      const controller = new AbortController();
      const leading = ours().lead(
        async (term, stop) => {
          controller.abort(new Error('shutdown'));
          const reason = (await aborted(stop)) as Error;
          return [reason.message, term.isValid, term.signal.aborted];
        },
        { signal: controller.signal },
      );
      expect(await leading).to.deep.equal(['shutdown', true, false]);
    });

    it('with requeue rejects with the reason of the signal if the job rejects with its AbortError', async () => {
      const controller = new AbortController();
      const leading = ours().lead(
        (_term, stop) => {
          controller.abort(new Error('shutdown'));
          return sleep(60_000, undefined, { signal: stop });
        },
        { requeue: true, signal: controller.signal },
      );
      expect(await rejection(leading)).to.equal(controller.signal.reason);
    });

    it('with requeue rejects with whatever the job rejects with, also with undefined', async () => {
      let jobs = 0;
      const leading = ours().lead(
        () => {
          jobs += 1;
          // oxlint-disable-next-line typescript/only-throw-error -- an application may
          throw jobs === 1 ? undefined : new Error('led again');
        },
        { requeue: true },
      );
      expect(await rejection(leading)).to.equal(undefined);
    });

    it('with requeue inside of a context that leads lets the event loop run between its jobs', async () => {
      const election = ours();
      const enough = new Error('enough');
      let jobs = 0;
      let hasTurned = false;
      const leading = election.lead(() =>
        election.lead(
          () => {
            jobs += 1;
            if (jobs === 1) setImmediate(() => (hasTurned = true));
            if (hasTurned) throw enough;
            if (jobs === 100_000) throw new Error('the event loop did not turn');
          },
          { requeue: true },
        ),
      );
      expect(await rejection(leading)).to.equal(enough);
    });

    it('waits for a job whose lease has ended before it campaigns again', async () => {
      const [begun, hanging] = [gate(), gate()];
      const controller = new AbortController();
      let jobs = 0;
      const leading = ours().lead(
        async () => {
          jobs += 1;
          begun.open();
          if (jobs === 1) await hanging.opened;
          else controller.abort(new Error('enough'));
        },
        { requeue: true, leaseMs: 20, signal: controller.signal },
      );
      await begun.opened;
      await (await theirs().campaign()).release();
      // A candidate that came before this one would have led before it.
      await theirs().lead(() => undefined);
      expect(jobs).to.equal(1);
      hanging.open();
      expect((await rejection(leading)).message).to.equal('enough');
      expect(jobs).to.equal(2);
    });
  });

  describe('observe', () => {
    const observed = (
      election: LeaderElection,
    ): { readonly seen: (string | undefined)[]; readonly stop: () => Promise<void> } => {
      const controller = new AbortController();
      const seen: (string | undefined)[] = [];
      const done = (async () => {
        for await (const leader of election.observe({ signal: controller.signal })) seen.push(leader?.id);
      })();
      return {
        seen,
        stop: () => {
          controller.abort();
          return done;
        },
      };
    };

    it('yields the leader at every change, also before the first candidate and after the last', async () => {
      const { seen, stop } = observed(ours());
      const shows = (...ids: (string | undefined)[]): Promise<void> =>
        until(`the leaders were ${ids.join(', ')}`, () => JSON.stringify(seen) === JSON.stringify(ids));
      await shows(undefined);
      const first = await theirs().campaign();
      await shows(undefined, 'theirs');
      const second = ours().campaign();
      await lab.queueReaches(2);
      await first.release();
      await shows(undefined, 'theirs', 'ours');
      const namesake = ours().campaign();
      await lab.queueReaches(2);
      await (await second).release();
      await shows(undefined, 'theirs', 'ours', 'ours');
      await (await namesake).release();
      await shows(undefined, 'theirs', 'ours', 'ours', undefined);
      await stop();
    });

    it('sends nothing when candidates come and go behind the leader, and leaves no watch', async () => {
      const watcher = await lab.connect({ sessionTimeoutMs: 20_000 });
      const connection = lab.proxy.frames.findLast(({ op }) => op === 'connect')?.connection;
      await using _term = await theirs().campaign();
      const { seen, stop } = observed(new LeaderElection(watcher, lab.path));
      await until('the leader is seen', () => seen.length === 1);
      lab.proxy.clear();
      const waiting = [1, 2, 3].map((index) => new LeaderElection(lab.other, lab.path, { id: `w-${index}` }));
      const controller = new AbortController();
      const campaigns = waiting.map((one) => rejection(one.campaign({ signal: controller.signal })));
      await lab.queueReaches(4);
      controller.abort();
      await Promise.all(campaigns);
      await lab.queueReaches(1);
      const isOfElection = (frame: Frame): boolean => frame.connection === connection && frame.path !== undefined;
      expect(lab.proxy.frames.filter((frame) => isOfElection(frame) && frame.path?.startsWith(lab.path))).to.deep.equal(
        [],
      );
      await stop();
      await lab.proxy.seen((frame) => frame.connection === connection && frame.op === 'removeWatches');
      expect(seen).to.deep.equal(['theirs']);
    });

    it('misses no candidate that comes between its list and its watch', async () => {
      await (await theirs().campaign()).release();
      let term: Hold | undefined;
      const listsElection = (frame: Frame): boolean => sent('getChildren2')(frame) && frame.path === lab.path;
      once(lab.proxy, listsElection, () => {
        once(lab.proxy, listsElection, () => ({
          delayUntil: theirs()
            .campaign()
            .then((hold) => (term = hold)),
        }));
        return 'pass';
      });
      const { seen, stop } = observed(ours());
      await until('the leader is seen', () => seen.length === 1);
      expect(seen).to.deep.equal(['theirs']);
      await stop();
      await term?.release();
    });

    it('misses no candidate that creates the election between its list and its watch', async () => {
      let term: Promise<Hold> | undefined;
      once(
        lab.proxy,
        (frame) => sent('exists')(frame) && frame.path === lab.path,
        () => {
          term = theirs().campaign();
          return { delayUntil: term };
        },
      );
      const { seen, stop } = observed(ours());
      await until('a leader is seen', () => seen.length === 1);
      expect(seen).to.deep.equal(['theirs']);
      await stop();
      await (await term)?.release();
    });

    it('shows no vacancy if the leader leaves before its data are read, and another candidate waits', async () => {
      const first = await theirs().campaign();
      const second = new LeaderElection(lab.other, lab.path, { id: 'next' }).campaign();
      await lab.queueReaches(2);
      const readsLeader = (frame: Frame): boolean => sent('getData')(frame) && frame.path === first.path;
      once(lab.proxy, readsLeader, () => {
        once(lab.proxy, readsLeader, () => ({ delayUntil: first.release() }));
        return 'pass';
      });
      const { seen, stop } = observed(ours());
      await until('a leader is seen', () => seen.length === 1);
      expect(seen).to.deep.equal(['next']);
      await stop();
      await (await second).release();
    });

    it('goes on in the next session', async () => {
      const { seen, stop } = observed(ours());
      await until('the first look', () => seen.length === 1);
      await lab.observer.endSession(lab.client);
      await using _term = await theirs().campaign();
      await until('the leader is seen', () => seen.at(-1) === 'theirs');
      await stop();
    });
  });

  it('is an error where the other protocol is used on the same path', async () => {
    await using _term = await theirs({ protocol: 'selector' }).campaign();
    expect(await rejection(ours({ protocol: 'latch' }).campaign())).to.be.instanceOf(ForeignNodeError);
    expect(await rejection(ours({ protocol: 'latch' }).leader())).to.be.instanceOf(ForeignNodeError);
    expect(await rejection(theirs({ protocol: 'latch' }).campaign()))
      .to.be.instanceOf(RangeError)
      .and.to.have.property('message')
      .that.contains('latch-');
  });

  it('of the protocol selector is one queue with a mutex of the same path', async () => {
    const term = await ours({ protocol: 'selector' }).campaign();
    expect(await lab.theirs.tryAcquire()).to.equal(undefined);
    await term.release();
    await using hold = await lab.theirs.acquire();
    expect(await rejection(ours({ protocol: 'selector' }).campaign({ timeoutMs: 50 }))).to.be.instanceOf(
      LockTimeoutError,
    );
    expect(hold.isValid).to.equal(true);
  });

  it('asks the leader to resign: its id is then the mark, as Java sees it too', async () => {
    const election = ours();
    const asked: Hold[] = [];
    election.makeRevocable((term) => asked.push(term));
    const term = await election.campaign();
    expect((await theirs().leader())?.id).to.equal('ours');
    await revoke(lab.other, term.path);
    await until('it is asked', () => asked.length > 0);
    expect((await theirs().leader())?.id).to.equal('__REVOKE__');
    expect(asked.map(({ path }) => path)).to.deep.equal([term.path]);
    await term.release();
    expect(await theirs().leader()).to.equal(undefined);
  });

  it('emits its events to its listeners, and to those of the client', async () => {
    const own: string[] = [];
    const all: LockEvent[] = [];
    lab.client.on('lock', (event) => all.push(event));
    const election = ours();
    election.on('acquired', ({ hold }) => own.push(`acquired ${hold.path.slice(-1)}`));
    election.on('released', ({ hold }) => own.push(`released ${hold.path.slice(-1)}`));
    await election.lead(() => undefined);
    expect(own).to.deep.equal(['acquired 0', 'released 0']);
    expect(all.map(({ type, kind, path }) => [type, kind, path])).to.deep.equal([
      ['acquired', 'election', lab.path],
      ['released', 'election', lab.path],
    ]);
  });

  it('is shown by watchQueue, the leader as the holder', async () => {
    const term = await ours().campaign();
    const waiting = theirs().campaign();
    await lab.queueReaches(2);
    for await (const { holder, waiters } of watchQueue(lab.client, lab.path)) {
      expect([holder?.path, String(holder?.data)]).to.deep.equal([term.path, 'ours']);
      expect(waiters.map(({ data, sequence }) => [String(data), sequence])).to.deep.equal([['theirs', 1]]);
      break;
    }
    await term.release();
    await (await waiting).release();
  });

  it('calls each listener of `stop` outside of every lock context', async () => {
    const election = ours();
    const controller = new AbortController();
    const isInside = new Promise<boolean>((resolve) => {
      void election.lead(
        async (_term, stop) => {
          stop.addEventListener('abort', () => {
            void election.campaign({ timeoutMs: 0 }).then(
              (inner) => resolve(inner.isReentrant),
              () => resolve(false),
            );
          });
          controller.abort(new Error('enough'));
          await isInside;
        },
        { signal: controller.signal },
      );
    });
    expect(await isInside).to.equal(false);
  });

  it('lets a campaign outside of every context be a candidate of its own', async () => {
    const election = ours();
    await using _term = await election.campaign();
    expect(await rejection(election.campaign({ timeoutMs: 50 }))).to.be.instanceOf(LockTimeoutError);
    await lockContext.run(async () => {
      expect(await rejection(election.campaign({ timeoutMs: 50 }))).to.be.instanceOf(LockTimeoutError);
    });
  });

  it('shows itself and its candidates as text', async () => {
    const election = ours();
    await using term = await election.campaign();
    expect(JSON.parse(JSON.stringify(election))).to.deep.include({ path: lab.path, id: 'ours', protocol: 'latch' });
    const [leader] = (await election.participants()) as [Candidate];
    expect(JSON.parse(JSON.stringify(leader))).to.deep.include({ id: 'ours', isLeader: true, path: term.path });
  });

  it('refuses bad options before anything is sent', async () => {
    const election = ours();
    expect(() => ours({ id: 7 as never })).to.throw(TypeError, '`id`');
    expect(() => ours({ id: '__REVOKE__' })).to.throw(RangeError, '`id`');
    expect(() => ours({ id: 'x'.repeat(600_000) })).to.throw(RangeError, '`id` to be at most 524288 bytes');
    expect(() => ours({ protocol: 'zab' as never })).to.throw(TypeError, '`protocol`');
    expect(() => election.observe({ timeoutMs: 1 } as never)).to.throw(TypeError, 'timeoutMs');
    expect(await rejection(election.campaign({ data: Buffer.from('x') } as never))).to.be.instanceOf(TypeError);
    expect(await rejection(election.campaign({ requeue: true } as never))).to.be.instanceOf(TypeError);
    expect(await rejection(election.lead(() => 1, { requeue: 'yes' as never }))).to.be.instanceOf(TypeError);
    expect(await rejection(election.lead('job' as never))).to.be.instanceOf(TypeError);
    expect(await rejection(election.lead(() => 1, { timeoutMs: -1 }))).to.be.instanceOf(RangeError);
  });

  it('needs a path that a mutex would need', () => {
    expect(() => new LeaderElection(lab.client, '/')).to.throw('root');
    expect(() => new InterProcessMutex(lab.client, '/')).to.throw('root');
  });
});
