import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  lockContext,
  LockTimeoutError,
  type LockClient,
  type LockEvent,
} from '../../src/index.ts';
import { innermostContext } from '../../src/mutex/lock-context.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches, takeAway } from '../../lab/queue.ts';
import { aborted, rejection, until } from '../../lab/until.ts';
import { codeMs } from '../../lab/world.ts';

describe("client.on('lock')", () => {
  const lab = labOfEachTest('lock-events');

  const emitted = (client: LockClient = lab.client): LockEvent[] => {
    const events: LockEvent[] = [];
    client.on('lock', (event) => events.push(event));
    return events;
  };
  const said = (events: readonly LockEvent[]): string[] =>
    events.map(({ type, kind, path }) => `${type} ${kind} ${path.slice(lab.path.length)}`.trim());

  /** The only event of this type. */
  function only<Type extends LockEvent['type']>(events: readonly LockEvent[], type: Type): LockEvent & { type: Type } {
    const [one, ...others] = events.filter((event) => event.type === type);
    expect(others).to.deep.equal([]);
    return one as LockEvent & { type: Type };
  }

  it('reports every lock of the client, and none of another client', async () => {
    const [events, others] = [emitted(), emitted(lab.other)];
    await lab.client.withLock(`${lab.path}/a`, () => undefined);
    await new InterProcessMutex(lab.client, `${lab.path}/b`, { sticky: { idleMs: 0 } }).withLock(() => undefined);
    await new InterProcessMutex(lab.client, `${lab.path}/c`, { weights: {} }).withLock(() => undefined);
    const rw = new InterProcessReadWriteLock(lab.client, `${lab.path}/d`);
    await rw.readLock.withLock(() => undefined);
    await rw.writeLock.withLock(() => undefined);
    await new InterProcessSemaphore(lab.client, `${lab.path}/e`, { maxLeases: 2 }).withLock(() => undefined);
    await new InterProcessSemaphoreMutex(lab.client, `${lab.path}/f`).withLock(() => undefined);
    await new InterProcessMultiLock([
      new InterProcessMutex(lab.client, `${lab.path}/g`),
      new InterProcessMutex(lab.client, `${lab.path}/h`),
    ]).withLock(() => undefined);
    const pair = (lock: string): string[] => [`acquired ${lock}`, `released ${lock}`];
    expect(said(events)).to.deep.equal([
      ...['mutex /a', 'mutex /b', 'mutex /c', 'read /d', 'write /d', 'semaphore /e', 'semaphore-mutex /f'].flatMap(
        pair,
      ),
      'acquired mutex /g',
      'acquired mutex /h',
      'released mutex /h',
      'released mutex /g',
    ]);
    expect(others).to.deep.equal([]);
  });

  it('reports how long a lock was waited for and held, with its znode and its token', async () => {
    const events = emitted();
    const first = await lab.theirs.acquire();
    const askedAt = lab.now();
    const waiting = lab.mutex.acquire().then((hold) => ({ hold, grantedAt: lab.now() }));
    await until('the waiter is queued', () => events.length === 1);
    await lab.sleep(50);
    await first.release();
    const { hold, grantedAt } = await waiting;
    const releasedAt = lab.now() + 50;
    await lab.sleep(50);
    await hold.release();
    expect(said(events)).to.deep.equal(['queued mutex', 'acquired mutex', 'released mutex']);
    const { znode, fencingToken, isReentrant, waitedMs } = only(events, 'acquired');
    expect([znode, fencingToken, isReentrant]).to.deep.equal([hold.path, hold.fencingToken, false]);
    expect(waitedMs)
      .to.be.closeTo(grantedAt - askedAt, codeMs)
      .and.above(50);
    const released = only(events, 'released');
    expect([released.znode, released.fencingToken]).to.deep.equal([hold.path, hold.fencingToken]);
    expect(released.heldMs).to.be.closeTo(releasedAt - grantedAt, codeMs);
    const queued = only(events, 'queued');
    expect([queued.znode, queued.position]).to.deep.equal([hold.path, 1]);
  });

  it('reports no held time for a hold that was acquired before the first listener', async () => {
    const hold = await lab.mutex.acquire();
    const events = emitted();
    await hold.release();
    expect(only(events, 'released')).to.include({ heldMs: undefined, znode: hold.path });
  });

  it('reports each re-entrant hold', async () => {
    const events = emitted();
    await lab.mutex.withLock(() => new InterProcessMutex(lab.client, lab.path).withLock(() => undefined));
    expect(events.map((event) => [event.type, 'isReentrant' in event && event.isReentrant])).to.deep.equal([
      ['acquired', false],
      ['acquired', true],
      ['released', true],
      ['released', false],
    ]);
  });

  it('reports renewal and expiry of a lease, and a loss, with the error and the held time', async () => {
    const events = emitted();
    const hold = await lab.mutex.acquire({ leaseMs: 60_000 });
    hold.renew(30);
    const expired = await aborted(hold.signal);
    await hold.release();
    expect(said(events)).to.deep.equal(['acquired mutex', 'renewed mutex', 'expired mutex']);
    expect(only(events, 'renewed').remainingMs).to.be.closeTo(30, codeMs);
    expect(only(events, 'expired')).to.include({ error: expired });
    expect(only(events, 'expired').heldMs).to.be.closeTo(30, codeMs);
    const next = await lab.mutex.acquire();
    await takeAway(next, lab.observer);
    await next.release();
    expect(only(events, 'lost')).to.include({ error: next.signal.reason as unknown, znode: next.path });
  });

  it('reports a hold as held until its lease ended, also if a stall delays the report', async () => {
    const events = emitted();
    const hold = await lab.mutex.acquire({ leaseMs: 100 });
    lab.stall(500);
    expect(hold.isValid).to.equal(false);
    expect(only(events, 'expired').heldMs).to.be.closeTo(100, codeMs);
    await hold.release();
  });

  const locks: Record<
    string,
    (client: LockClient, path: string) => Pick<InterProcessMutex, 'acquire' | 'tryAcquire' | 'withLock'>
  > = {
    mutex: (client, path) => new InterProcessMutex(client, path),
    semaphore: (client, path) => new InterProcessSemaphore(client, path, { maxLeases: 1 }),
    'semaphore-mutex': (client, path) => new InterProcessSemaphoreMutex(client, path),
  };

  for (const [kind, make] of Object.entries(locks))
    it(`reports each failed acquire of a ${kind}: timed out, aborted, failed`, async () => {
      const [ours, theirs] = [make(lab.client, lab.path), make(lab.other, lab.path)];
      const hold = await theirs.acquire();
      const events = emitted();
      const expectEnd = (type: LockEvent['type'], error: unknown, atLeastMs = 0): void => {
        const ended = events.filter((event) => event.type !== 'queued').splice(0);
        events.length = 0;
        expect(ended.map((event) => [event.type, event.kind, event.path])).to.deep.equal([[type, kind, lab.path]]);
        const [one] = ended;
        expect((one as { error?: unknown }).error).to.equal(error);
        expect((one as { waitedMs: number }).waitedMs).to.be.within(atLeastMs, atLeastMs + 50 + codeMs);
      };
      const late = await rejection(ours.acquire({ timeoutMs: 30 }));
      expect(late).to.be.instanceOf(LockTimeoutError);
      expectEnd('timed-out', late, 30);
      expectEnd('timed-out', await rejection(ours.withLock(() => undefined, { timeoutMs: 0 })));
      for (const timeoutMs of [0, 30]) {
        expect(await ours.tryAcquire(timeoutMs)).to.equal(undefined);
        const { error } = events.find(({ type }) => type === 'timed-out') as { error?: unknown };
        expect(error).to.be.instanceOf(LockTimeoutError).and.to.have.property('timeoutMs', timeoutMs);
        // After 30 ms, an answer may be outstanding.
        if (timeoutMs === 0) expect(error).to.have.property('reason', 'contention');
        expectEnd('timed-out', error, timeoutMs);
      }
      const reason = new Error('changed my mind');
      await rejection(ours.acquire({ signal: AbortSignal.abort(reason) }));
      expectEnd('aborted', reason);
      const aborter = new AbortController();
      const waiting = rejection(ours.acquire({ signal: aborter.signal }));
      await until('the waiter is queued', () => events.length > 0);
      aborter.abort(reason);
      await waiting;
      expectEnd('aborted', reason);
      await hold.release();
      await lab.observer.create(`${lab.path}/config`);
      expectEnd('failed', await rejection(ours.acquire()));
    });

  it('reports nothing for invalid options', async () => {
    const events = emitted();
    await rejection(lab.mutex.acquire({ timeoutMs: -1 }));
    await rejection(lab.mutex.acquire({ timeout: 1 } as never));
    expect(events).to.deep.equal([]);
  });

  it('runs its listeners outside of every lock context', async () => {
    const contexts: unknown[] = [];
    lab.client.on('lock', () => contexts.push(innermostContext()));
    await lockContext.run(() => lab.mutex.withLock(() => rejection(lab.theirs.acquire({ timeoutMs: 1 }))));
    expect(contexts).to.deep.equal([undefined, undefined]);
  });

  it('sends no request for its listeners: a waiter directly behind its own process needs no list', async () => {
    const wait = async (): Promise<void> => {
      const hold = await lab.mutex.acquire();
      const waiting = [lab.mutex.acquire(), lab.mutex.acquire(), lab.mutex.acquire()];
      // Asked by the waiters' own client: its server may lag behind the one of another client.
      await queueReaches(lab.mutex, 4);
      await hold.release();
      for (const next of waiting) await (await next).release();
    };
    const events = emitted(lab.client);
    await wait();
    const queued = events.filter((event) => event.type === 'queued');
    expect(queued).to.have.length(3);
    // A waiter that sent no list does not know its position.
    expect(queued.map(({ position }) => position)).to.include(undefined);
    const positions: number[] = [];
    lab.mutex.on('queued', ({ position }) => positions.push(position));
    await wait();
    expect(positions).to.deep.equal([1, 2, 3]);
  });

  it('emits events that JSON.stringify and console.log accept', async () => {
    const events = emitted();
    const hold = await lab.mutex.acquire({ leaseMs: 5 });
    await aborted(hold.signal);
    await hold.release();
    const [acquired, expired] = events.map((event) => JSON.parse(JSON.stringify(event)) as Record<string, unknown>);
    expect(acquired).to.include({
      type: 'acquired',
      kind: 'mutex',
      path: lab.path,
      znode: hold.path,
      fencingToken: String(hold.fencingToken),
    });
    expect(expired?.['error']).to.include({ code: 'ERR_LOCK_LOST', reason: 'lease-expired', path: hold.path });
  });
});
