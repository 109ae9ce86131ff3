import { expect } from 'chai';
import { inspect } from 'node:util';
import {
  type BackgroundEvent,
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockClient,
  LockError,
  type LockEvent,
} from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { takeAway } from '../../lab/queue.ts';
import { rejection } from '../../lab/until.ts';

const password = 'Open-Sesame-4711';
const credentials = `alice:${password}`;
/** The password as text, as a buffer that is inspected, and encoded. */
const traces = [
  password,
  inspect(Buffer.from(password)).slice('<Buffer '.length, -1),
  Buffer.from(password).toString('hex'),
  Buffer.from(credentials).toString('base64'),
  'alice',
];

const everything = { depth: Infinity, showHidden: true, maxArrayLength: null, maxStringLength: null } as const;

/** Not the hidden parts: the memory behind a buffer is shared with those of the test. */
const withoutForms = { ...everything, customInspect: false, showHidden: false } as const;

const json = (value: unknown): Record<string, unknown> => JSON.parse(JSON.stringify(value)) as Record<string, unknown>;

describe('the output of console.log and JSON', () => {
  const lab = labOfEachTest('shown', {
    client: { auth: [{ scheme: 'digest', credentials }], sessionTimeoutMs: 10_000 },
  });

  /** All objects that an application gets, in use. */
  async function objects(): Promise<Record<string, unknown>> {
    const events: LockEvent[] = [];
    lab.client.on('lock', (event) => events.push(event));
    const emitted: unknown[] = [];
    lab.mutex
      .on('acquired', (event) => emitted.push(event))
      .on('lost', (event) => emitted.push(event))
      .on('released', (event) => emitted.push(event))
      .on('renewed', (event) => emitted.push(event));
    const semaphore = new InterProcessSemaphore(lab.client, `${lab.path}-semaphore`, { maxLeases: 3 });
    const semaphoreMutex = new InterProcessSemaphoreMutex(lab.client, `${lab.path}-semaphore-mutex`);
    const rw = new InterProcessReadWriteLock(lab.client, `${lab.path}-rw`);
    const multi = new InterProcessMultiLock([
      new InterProcessMutex(lab.client, `${lab.path}-a`),
      new InterProcessMutex(lab.client, `${lab.path}-b`),
    ]);
    const hold = await lab.mutex.acquire({ leaseMs: 60_000, data: 'owner' });
    hold.renew(60_000);
    const [participant] = await lab.mutex.participants();
    const lost = await new InterProcessMutex(lab.client, `${lab.path}-lost`).acquire();
    await takeAway(lost, lab.observer);
    const multiHold = await multi.acquire();
    await semaphore.acquire();
    await semaphoreMutex.acquire();
    await rw.readLock.acquire();
    const error = await rejection(new InterProcessMutex(lab.other, lab.path).acquire({ timeoutMs: 1 }));
    return {
      client: lab.client,
      mutex: lab.mutex,
      hold,
      lost,
      semaphore,
      semaphoreMutex,
      rw,
      multi,
      multiHold,
      participant,
      events,
      emitted,
      error,
    };
  }

  it('are texts without bigints, internals or credentials, of every object', async () => {
    const all = await objects();
    for (const [name, one] of Object.entries(all)) {
      for (const text of [JSON.stringify(one), inspect(one, everything)]) {
        for (const trace of traces) expect(text, name).not.to.contain(trace);
        // The output of an error contains its stack, as for every error.
        if (!text.includes('    at '))
          expect(text, name).not.to.match(/#|Symbol\(|\bSession\b|Connection|Buffer|EventEmitter|Map\(/);
        expect(text.length, `${name}: ${text}`).to.be.below(8_000);
      }
    }
  });

  it('contain no credentials either if the custom forms of the classes are left out', async () => {
    for (const [name, one] of Object.entries(await objects()))
      for (const getters of [false, true])
        for (const trace of traces) expect(inspect(one, { ...withoutForms, getters }), name).not.to.contain(trace);
  });

  it('of a client are its servers, its state and its session', async () => {
    const { hosts, ...others } = json(lab.client);
    expect(hosts).to.be.a('string').and.to.contain(lab.connectString.split('/')[0]);
    expect(others).to.deep.equal({
      chroot: '',
      state: 'connected',
      sessionId: `0x${lab.client.session.id.toString(16)}`,
      sessionTimeoutMs: 10_000,
    });
    expect(inspect(lab.client)).to.match(/^LockClient \{\s+hosts: '/);
    await lab.client.close();
    expect(json(lab.client)).to.include({ state: 'closed' });
  });

  it('of a mutex are its path and its holds, by any of its objects', async () => {
    const twin = new InterProcessMutex(lab.client, lab.path);
    expect(json(lab.mutex)).to.deep.equal({
      path: lab.path,
      kind: 'mutex',
      isAcquiredInThisProcess: false,
      isOwnedByCurrentContext: false,
      holds: [],
    });
    await lab.mutex.withLock((hold) =>
      expect(json(twin)).to.deep.equal({
        path: lab.path,
        kind: 'mutex',
        isAcquiredInThisProcess: true,
        isOwnedByCurrentContext: true,
        holds: [json(hold)],
      }),
    );
    expect(inspect(lab.mutex)).to.match(/^InterProcessMutex \{\s+path: '/);
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, lab.path);
    expect([json(readLock)['kind'], json(writeLock)['kind']]).to.deep.equal(['read', 'write']);
  });

  it('of a hold are its znode, its token as text, and its state', async () => {
    const hold = await lab.mutex.acquire();
    const common = { path: hold.path, fencingToken: String(hold.fencingToken), grantNumber: '0', isReentrant: false };
    expect(json(hold)).to.deep.equal({ ...common, state: 'held' });
    expect(inspect(hold))
      .to.contain('Hold {')
      .and.to.contain(`fencingToken: '${hold.fencingToken}'`)
      .and.to.contain("state: 'held'");
    expect(inspect({ deep: { deeper: { deepest: hold } } })).to.contain('[Hold]');
    await hold.release();
    expect(json(hold)).to.deep.equal({ ...common, state: 'released' });
    await using lost = await lab.mutex.acquire();
    await takeAway(lost, lab.observer);
    expect(json(lost)).to.include({ state: 'lost', reason: 'node-deleted' });
  });

  it('of the other locks are their paths, limits and holds', async () => {
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 3 });
    await using lease = await semaphore.acquire();
    expect(json(semaphore)).to.deep.equal({
      maxLeases: 3,
      path: lab.path,
      isAcquiredInThisProcess: true,
      holds: [json(lease)],
    });
    expect(json(new InterProcessSemaphore(lab.client, lab.path, { sharedCount: '/count' }))).to.include({
      sharedCount: '/count',
    });
    expect(inspect(semaphore)).to.match(/^InterProcessSemaphore \{/);
    expect(inspect(new InterProcessSemaphoreMutex(lab.client, lab.path))).to.match(/^InterProcessSemaphoreMutex \{/);
    expect(inspect(new InterProcessReadWriteLock(lab.client, lab.path))).to.match(/^InterProcessReadWriteLock \{/);
    const multi = new InterProcessMultiLock([new InterProcessMutex(lab.client, `${lab.path}-a`)]);
    const hold = await multi.acquire();
    expect(json(multi)).to.deep.equal({ paths: [`${lab.path}-a`], isAcquiredInThisProcess: true, holds: [json(hold)] });
    expect(json(hold)).to.deep.equal({ state: 'held', holds: [json(hold.holds[0])] });
    expect([inspect(multi), inspect(hold)].map((text) => text.split(' ')[0])).to.deep.equal([
      'InterProcessMultiLock',
      'MultiHold',
    ]);
    await hold.release();
    expect(json(hold)).to.include({ state: 'released' });
  });

  it('of events are their fields and holds', async () => {
    const emitted: unknown[] = [];
    lab.mutex.on('acquired', (event) => emitted.push(event)).on('lost', (event) => emitted.push(event));
    await using hold = await lab.mutex.acquire();
    await takeAway(hold, lab.observer);
    expect(emitted.map(json)).to.deep.equal([
      { hold: json(hold) },
      { hold: json(hold), error: json(hold.signal.reason) },
    ]);
  });

  it('of background events are their errors, too', async () => {
    const events: BackgroundEvent[] = [];
    lab.client.on('background', (event) => events.push(event));
    lab.client.host.report.background({
      type: 'disconnected',
      sessionId: '0x1',
      error: new TypeError('for this reason'),
    });
    lab.client.host.report.background({ type: 'delete-retried', path: '/a', error: undefined });
    expect(json(events)).to.deep.equal([
      { type: 'disconnected', sessionId: '0x1', error: { name: 'TypeError', message: 'for this reason' } },
      { type: 'delete-retried', path: '/a' },
    ]);
    expect(inspect(events[0])).to.contain('for this reason').and.not.to.contain('toJSON');
  });

  it('of an aborted acquire are the reason of the abort, whatever it is', async () => {
    const events: LockEvent[] = [];
    lab.client.on('lock', (event) => event.type === 'aborted' && events.push(event));
    await using _hold = await lab.theirs.acquire();
    const circle: Record<string, unknown> = { name: 'circle' };
    circle['circle'] = circle;
    for (const reason of [{ amount: 1n }, circle, { why: 'late' }, 'a text']) {
      const controller = new AbortController();
      const acquiring = rejection(lab.mutex.acquire({ signal: controller.signal }));
      controller.abort(reason);
      await acquiring;
    }
    expect(events.map((event) => json(event)['error'])).to.deep.equal([
      '{ amount: 1n }',
      inspect(circle),
      { why: 'late' },
      'a text',
    ]);
  });

  it('of errors are their codes, messages and fields', async () => {
    await using hold = await lab.mutex.acquire();
    await takeAway(hold, lab.observer);
    const error = hold.signal.reason as LockError;
    expect(json(error)).to.deep.equal({
      name: 'LockLostError',
      code: 'ERR_LOCK_LOST',
      message: error.message,
      path: hold.path,
      reason: 'node-deleted',
    });
    const caused = new LockError('ERR_LOCK_REQUEST_FAILED', 'no', { cause: new TypeError('why') });
    expect(json(caused)).to.deep.equal({
      name: 'LockError',
      code: 'ERR_LOCK_REQUEST_FAILED',
      message: 'no',
      cause: { name: 'TypeError', message: 'why' },
    });
  });

  it('of participants are their data as text, or in hexadecimal digits if it is no text', async () => {
    for (const [data, shown] of [
      [Buffer.from('worker 7'), 'worker 7'],
      [Buffer.from([0xff, 0xfe]), '0xfffe'],
      [Buffer.alloc(0), ''],
    ] as const) {
      await lab.mutex.withLock(
        async (hold) => {
          const holder = await lab.mutex.holder();
          expect(holder?.data).to.deep.equal(data);
          expect(json(holder)).to.deep.equal({
            path: hold.path,
            sequence: holder?.sequence,
            sessionId: holder?.sessionId,
            isIdle: false,
            data: shown,
            createdAt: holder?.createdAt.toISOString(),
          });
          expect(inspect(holder)).to.contain('Participant {').and.to.contain(`data: '${shown}'`);
          const undated = Object.assign(holder ?? {}, { createdAt: new Date(NaN) });
          expect(json(undated)).to.have.property('createdAt', null);
        },
        { data },
      );
    }
  });

  it('exist for a client that is not connected', async () => {
    const client = await LockClient.connect(lab.connectString, { sessionTimeoutMs: 10_000 });
    await client.close();
    for (const text of [JSON.stringify(client), inspect(client)]) expect(text).to.contain('closed');
  });
});
