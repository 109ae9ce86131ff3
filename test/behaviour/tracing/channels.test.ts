import { tracingChannel } from 'node:diagnostics_channel';
import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockLostError,
  LockTimeoutError,
  lockContext,
  type LockEvent,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { queueReaches, takeAway } from '../../../lab/queue.ts';
import { Recording } from '../../../lab/traced.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { codeMs } from '../../../lab/world.ts';

/** The uncaught exceptions of this process. */
async function uncaught(during: () => Promise<unknown>): Promise<Error[]> {
  const errors: Error[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => errors.push(error));
  try {
    await during();
    await new Promise(setImmediate);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const other of others) process.on('uncaughtException', other);
  }
  return errors;
}

describe('the tracing channels of locks', () => {
  const lab = labOfEachTest('tracing');
  let recording: Recording;

  beforeEach(() => (recording = new Recording()));
  afterEach(() => recording[Symbol.dispose]());

  const endsOf = (name: 'acquire' | 'hold' | 'release') =>
    recording.messages[name].map(({ outcome, reason }) => [outcome, reason]);

  it('publish an acquire, its hold and its release in order, each with one message', async () => {
    const startedAt = lab.now();
    const hold = await lab.mutex.acquire();
    const grantedAt = lab.now();
    const { fencingToken, path: znode } = hold;
    await lab.sleep(20);
    const releasingAt = lab.now();
    await hold.release();
    const releasedAt = lab.now();
    await until('the release has ended', () => recording.events.includes('release asyncEnd'));
    expect(recording.events).to.deep.equal([
      'acquire start',
      'acquire end',
      'acquire asyncStart',
      'acquire asyncEnd',
      'hold start',
      'hold end',
      'hold asyncStart',
      'hold asyncEnd',
      'release start',
      'release end',
      'release asyncStart',
      'release asyncEnd',
    ]);
    const common = { path: lab.path, kind: 'mutex', mode: 'acquire', position: undefined, fencingToken };
    const ended = { reason: undefined, error: undefined, isReentrant: false };
    const [acquired] = recording.messages.acquire;
    const [held] = recording.messages.hold;
    const [released] = recording.messages.release;
    const { durationMs: waitedMs, ...acquire } = { ...acquired };
    const { durationMs: heldMs, ...rest } = { ...held };
    const { durationMs: releasedMs, ...release } = { ...released };
    expect(acquire).to.deep.equal({ ...common, ...ended, outcome: 'acquired' });
    expect(rest).to.deep.equal({ ...common, ...ended, outcome: 'released', znode, waitedMs });
    expect(release).to.deep.equal({ ...common, ...ended, outcome: 'released' });
    expect(waitedMs).to.be.closeTo(grantedAt - startedAt, codeMs);
    expect(heldMs).to.be.closeTo(20, codeMs);
    expect(releasedMs).to.be.closeTo(releasedAt - releasingAt, codeMs);
  });

  it('show the position of a waiter', async () => {
    const first = await lab.theirs.acquire();
    const waiting = lab.mutex.acquire();
    // By the waiter's own connection, which answers in order: the waiter knows its position.
    await queueReaches(lab.mutex, 2);
    await first.release();
    await (await waiting).release();
    expect(recording.messages.acquire.map(({ position }) => position)).to.deep.equal([undefined, 1]);
    expect(recording.messages.hold.map(({ position }) => position)).to.deep.equal([undefined, 1]);
  });

  it('tell how an acquire without a lock ended, and why', async () => {
    const hold = await lab.theirs.acquire();
    const late = await rejection(lab.mutex.acquire({ timeoutMs: 1_000 }));
    await lab.mutex.tryAcquire();
    await lab.mutex.tryAcquire(1_000);
    const stop = new AbortController();
    const waiting = rejection(lab.mutex.withLock(() => undefined, { signal: stop.signal }));
    stop.abort(new Error('enough'));
    await waiting;
    await hold.release();
    const client = await lab.connect();
    const closed = new InterProcessMutex(client, lab.path);
    await lab.mutex.withLock(async () => {
      const failing = rejection(closed.acquire());
      await queueReaches(lab.mutex, 2);
      await client.close();
      await failing;
    });
    const [, ...failures] = recording.messages.acquire;
    expect(failures.map(({ mode, outcome, reason }) => [mode, outcome, reason])).to.deep.equal([
      ['acquire', 'timed-out', 'contention'],
      ['tryAcquire', 'timed-out', 'contention'],
      ['tryAcquire', 'timed-out', 'contention'],
      ['withLock', 'aborted', undefined],
      ['withLock', 'acquired', undefined],
      ['acquire', 'failed', 'ERR_LOCK_CLIENT_CLOSED'],
    ]);
    expect(failures[0]?.error).to.equal(late);
    expect(failures[1]?.error).to.be.instanceOf(LockTimeoutError);
    expect(recording.events.filter((event) => event === 'acquire error')).to.have.length(5);
    expect(recording.events.filter((event) => event === 'acquire asyncEnd')).to.have.length(7);
  });

  it('cover every kind of lock, and each lease', async () => {
    const rw = new InterProcessReadWriteLock(lab.client, `${lab.path}/rw`);
    await lab.client.withLock(`${lab.path}/mutex`, () => undefined);
    await rw.readLock.withLock(() => undefined);
    await rw.writeLock.withLock(() => undefined);
    await new InterProcessMutex(lab.client, `${lab.path}/sticky`, { sticky: { idleMs: 0 } }).withLock(() => undefined);
    await new InterProcessMutex(lab.client, `${lab.path}/weights`, { weights: {} }).withLock(() => undefined);
    await new InterProcessSemaphoreMutex(lab.client, `${lab.path}/semaphore-mutex`).withLock(() => undefined);
    const leases = await new InterProcessSemaphore(lab.client, `${lab.path}/semaphore`, { maxLeases: 2 }).acquireMany(
      2,
    );
    for (const lease of leases) await lease.release();
    const kinds = (name: 'acquire' | 'hold' | 'release') => recording.messages[name].map(({ kind }) => kind);
    const all = ['mutex', 'read', 'write', 'mutex', 'mutex', 'semaphore-mutex', 'semaphore'];
    expect(kinds('acquire')).to.deep.equal(all);
    expect(kinds('hold')).to.deep.equal([...all, 'semaphore']);
    expect(kinds('release')).to.deep.equal([...all, 'semaphore']);
    expect(new Set(recording.messages.acquire.map(({ outcome }) => outcome))).to.deep.equal(new Set(['acquired']));
  });

  it('keep the token of the first lease in the message of an acquire of several', async () => {
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 });
    const leases = await semaphore.acquireMany(2);
    const tokens = recording.messages.hold.map(({ fencingToken }) => fencingToken);
    expect(new Set(tokens).size).to.equal(2);
    expect(recording.messages.acquire.map(({ fencingToken }) => fencingToken)).to.deep.equal([tokens[0]]);
    for (const lease of leases) await lease.release();
  });

  it('mark what was re-entered', async () => {
    await lab.mutex.withLock(() => lab.mutex.withLock(() => undefined));
    const marks = (name: 'acquire' | 'hold' | 'release') =>
      recording.messages[name].map(({ isReentrant }) => isReentrant);
    expect(marks('acquire')).to.deep.equal([false, true]);
    expect(marks('hold')).to.deep.equal([false, true]);
    expect(marks('release')).to.deep.equal([true, false]);
    expect(endsOf('hold')).to.deep.equal([
      ['released', undefined],
      ['released', undefined],
    ]);
  });

  it('tell the loss of a hold once, with its reason', async () => {
    const lost = await lab.mutex.acquire();
    await takeAway(lost, lab.observer);
    await lost.release();
    const expired = await lab.mutex.acquire({ leaseMs: 5 });
    await aborted(expired.signal);
    await expired.release();
    expect(endsOf('hold')).to.deep.equal([
      ['lost', 'node-deleted'],
      ['expired', 'lease-expired'],
    ]);
    expect(endsOf('release')).to.deep.equal([
      ['lost', 'node-deleted'],
      ['lost', 'lease-expired'],
    ]);
    expect(recording.messages.hold[0]?.error).to.be.instanceOf(LockLostError);
    expect(recording.events.filter((event) => event === 'hold asyncEnd')).to.have.length(2);
    expect(recording.events.filter((event) => event === 'hold error')).to.have.length(2);
  });

  it('publish nothing of an operation that began before the first subscriber', async () => {
    recording[Symbol.dispose]();
    const hold = await lab.theirs.acquire();
    const waiting = lab.mutex.acquire();
    await queueReaches(lab.theirs, 2);
    using late = new Recording();
    const released = hold.release();
    await released;
    await (await waiting).release();
    await until('both releases have ended', () => late.events.length >= 8);
    expect(late.events.every((event) => event.startsWith('release'))).to.equal(true);
  });

  it('record nothing while nobody subscribes', async () => {
    recording[Symbol.dispose]();
    const hold = await lab.mutex.acquire();
    using later = new Recording();
    const told: LockEvent[] = [];
    lab.client.on('lock', (event) => told.push(event));
    await hold.release();
    expect(told).to.have.length(1);
    expect(told[0]).to.include({ type: 'released', heldMs: undefined });
    expect(later.events.filter((event) => !event.startsWith('release'))).to.deep.equal([]);
  });

  it('read as JSON', async () => {
    await lab.mutex.withLock(() => undefined);
    const [message] = JSON.parse(JSON.stringify(recording.messages.hold)) as [object];
    expect(message).to.include({ fencingToken: String(recording.messages.hold[0]?.fencingToken), kind: 'mutex' });
  });

  it('let a subscriber that throws harm nothing but the process, by an uncaught exception', async () => {
    const thrower = () => {
      throw new Error('the subscriber failed');
    };
    const subscribers = { start: thrower, end: thrower, asyncStart: thrower, asyncEnd: thrower, error: thrower };
    const names = ['acquire', 'hold', 'release'].map((name) => `zookeeper-fair-lock:${name}`);
    const errors = await uncaught(async () => {
      for (const name of names) tracingChannel(name).subscribe(subscribers);
      try {
        expect(await lab.mutex.withLock((hold) => hold.isValid)).to.equal(true);
        await until('the release has ended', () => recording.events.includes('release asyncEnd'));
      } finally {
        for (const name of names) tracingChannel(name).unsubscribe(subscribers);
      }
    });
    expect(errors.map(({ message }) => message)).to.deep.equal(Array(12).fill('the subscriber failed'));
    expect((await lab.mutex.participants()).length).to.equal(0);
    await lockContext.run(() => lab.mutex.withLock(() => undefined));
  });

  it('report an acquire with a bad option, and with an aborted signal', async () => {
    await rejection(lab.mutex.acquire({ signal: AbortSignal.abort(new Error('before')) }));
    await rejection(lab.mutex.acquire({ timeoutMs: -1 }));
    expect(endsOf('acquire')).to.deep.equal([['aborted', undefined]]);
  });
});

describe('the tracing channel of sessions', () => {
  const lab = labOfEachTest('tracing-sessions', { server: 'own', proxy: true, client: 'none' });

  it('publishes the life of a session, and each outage', async () => {
    using recording = new Recording();
    const client = await lab.connect({ sessionTimeoutMs: 6_000 });
    const [session] = recording.messages.session;
    expect(session?.remainingMs).to.be.within(5_950 - codeMs, 6_000);
    const { sessionId } = client.health();
    lab.proxy.cut();
    await until(
      'the outage is over',
      () => recording.events.filter((event) => event === 'session asyncEnd').length === 1,
    );
    await client.close();
    const [life, outage, ...others] = recording.messages.session;
    expect(others).to.deep.equal([]);
    expect(life).to.include({ kind: 'session', mode: 'session', outcome: 'closed', path: undefined, sessionId });
    expect(outage).to.include({ mode: 'outage', outcome: 'reconnected', sessionId, server: lab.proxy.connectString });
    expect(life?.ensemble).to.equal(lab.proxy.connectString);
    expect(outage?.error).to.be.instanceOf(Error);
    expect(life?.durationMs).to.be.above(outage?.durationMs ?? Infinity);
    expect(life?.remainingMs).to.equal(0);
  });

  it('publishes the end of a session during an outage, and the next session', async () => {
    using recording = new Recording();
    const client = await lab.connect({ sessionTimeoutMs: 6_000 });
    await lab.proxy.refuse();
    await lab.observer.endSession(client);
    lab.proxy.cut();
    await lab.proxy.accept();
    await until('there is a new session', () => recording.messages.session.length === 3);
    await client.close();
    expect(recording.messages.session.map(({ mode, outcome, reason }) => [mode, outcome, reason])).to.deep.equal([
      ['session', 'expired', undefined],
      ['outage', 'session-ended', 'expired'],
      ['session', 'closed', undefined],
    ]);
  });
});
