import { expect } from 'chai';
import { runInNewContext } from 'node:vm';
import {
  InterProcessMutex,
  InterProcessSemaphore,
  LockClient,
  lockContext,
  type SaslHandshake,
} from '../../src/index.ts';
import { sessionName } from '../../src/zookeeper/wire/wire-session.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueReaches } from '../../lab/queue.ts';
import { aborted, rejection, until } from '../../lab/until.ts';

const sessionTimeoutMs = 6_000;

describe('client.health()', () => {
  const lab = labOfEachTest('health', { server: 'own', proxy: true, client: { sessionTimeoutMs } });

  it('of an idle client shows its session, its server, and nothing held', () => {
    const { remainingMs, ...others } = lab.client.health();
    expect(others).to.deep.equal({
      state: 'connected',
      sessionId: sessionName(lab.client.session.id),
      server: lab.proxy.connectString,
      timeoutMs: sessionTimeoutMs,
      held: 0,
      waiting: 0,
      lastError: undefined,
    });
    expect(remainingMs).to.be.within(sessionTimeoutMs - 50, sessionTimeoutMs);
  });

  it('sends nothing', async () => {
    await lab.requests();
    lab.proxy.clear();
    for (let count = 0; count < 100; count += 1) lab.client.health();
    expect(await lab.requests()).to.deep.equal([]);
    expect(lab.proxy.frames.filter(({ from, op }) => from === 'client' && op !== 'ping').length).to.be.at.most(6);
  });

  it('counts a re-entered lock once, and each lease', async () => {
    await lockContext.run(async () => {
      const holds = [await lab.mutex.acquire(), await lab.mutex.acquire()];
      expect(lab.client.health().held).to.equal(1);
      for (const hold of holds) await hold.release();
    });
    const semaphore = new InterProcessSemaphore(lab.client, `${lab.path}-semaphore`, { maxLeases: 3 });
    const leases = await semaphore.acquireMany(2);
    expect(lab.client.health().held).to.equal(2);
    for (const lease of leases) await lease.release();
    expect(lab.client.health().held).to.equal(0);
  });

  it('counts the acquires that wait, and no other call', async () => {
    await using _hold = await lab.theirs.acquire();
    const stop = new AbortController();
    const waits = [lab.mutex, lab.mutex, new InterProcessMutex(lab.client, lab.path)].map((mutex) =>
      rejection(mutex.acquire({ signal: stop.signal })),
    );
    const asking = lab.mutex.participants();
    expect(lab.client.health().waiting).to.equal(3);
    await asking;
    await queueReaches(lab.mutex, 4);
    expect(lab.client.health()).to.include({ waiting: 3, held: 0 });
    stop.abort();
    await Promise.all(waits);
    expect(lab.client.health().waiting).to.equal(0);
  });

  it('says how long a hold is still valid, as the hold itself does', async () => {
    await using hold = await lab.mutex.acquire();
    expect(lab.client.health().remainingMs).to.equal(hold.remainingMs);
  });

  it('of a suspended client with a hold shows the reason, and counts down to the moment of the loss', async () => {
    const hold = await lab.mutex.acquire();
    await lab.disconnect();
    const at = lab.now();
    const { sessionId, remainingMs, lastError, ...others } = lab.client.health();
    expect(others).to.deep.equal({
      state: 'suspended',
      server: undefined,
      timeoutMs: sessionTimeoutMs,
      held: 1,
      waiting: 0,
    });
    expect(sessionId).to.equal(sessionName(lab.client.session.id));
    expect(remainingMs).to.be.within(0.9 * sessionTimeoutMs - 100, 0.9 * sessionTimeoutMs);
    expect(lastError).to.have.property('message').that.contains(lab.proxy.connectString);
    await aborted(hold.signal);
    expect(lab.now() - at).to.be.within(remainingMs, remainingMs + 1);
    expect(lab.client.health()).to.include({ held: 0, remainingMs: 0 });
  });

  it('of a new session without an error of its own shows the last error of the session before', async () => {
    await using _hold = await lab.mutex.acquire();
    let atLoss: unknown;
    lab.client.on('state', (state) => state === 'lost' && (atLoss = lab.client.health().lastError));
    await lab.disconnect();
    await lab.proxy.admit('silent');
    await until('a new session has begun', () => lab.client.health().sessionId === undefined);
    expect(lab.client.health().lastError).to.deep.equal(atLoss).and.to.be.an('object');
    await lab.proxy.admit('served');
  });

  it('counts no hold whose deadline has passed while the process was stopped', async () => {
    const hold = await lab.mutex.acquire();
    lab.stall(2 * sessionTimeoutMs);
    expect(lab.client.health()).to.include({ held: 0, remainingMs: 0 });
    expect(hold.isValid).to.equal(false);
  });

  it('shows the name, the text and the code of an error of another realm, as those of Node are under Jest', async () => {
    const facts = { name: 'RangeError', message: 'the door is shut', code: 'ESHUT' };
    const error: unknown = runInNewContext("Object.assign(new RangeError('the door is shut'), { code: 'ESHUT' })");
    const handshake = (): SaslHandshake => ({ begin: () => Promise.reject(error), next: () => undefined });
    const sasl = { mechanism: 'DOOR', handshake };
    const refused = await rejection(LockClient.connect(lab.connectString, { sasl, connectionTimeoutMs: 50 }));
    expect(refused.message).to.contain('; last: the door is shut. ');
    expect(JSON.parse(JSON.stringify(refused)))
      .to.have.property('cause')
      .that.deep.equals({ name: facts.name, message: facts.message });
    const client = LockClient.create(lab.connectString, { sasl });
    await until('the handshake has failed', () => client.health().lastError?.message === facts.message);
    expect(client.health().lastError).to.deep.equal(facts);
    await client.close();
  });

  it('of a client that waits shows a time that is left, also after the deadline of holds has passed', async () => {
    await using _hold = await lab.theirs.acquire();
    const stop = new AbortController();
    const waiting = rejection(lab.mutex.acquire({ signal: stop.signal }));
    await queueReaches(lab.theirs, 2);
    expect(lab.client.health().remainingMs).to.be.above(sessionTimeoutMs / 4);
    stop.abort();
    await waiting;
  });

  it('of a closed client has nothing left', async () => {
    const client = await LockClient.connect(lab.connectString);
    await client.close();
    expect(client.health()).to.include({ state: 'closed', remainingMs: 0, held: 0, waiting: 0, server: undefined });
    expect(client.health().lastError).to.equal(undefined);
  });

  it('is plain data, also after a spread and as JSON', async () => {
    await lab.disconnect();
    await until('a dial is refused', () => lab.client.health().lastError?.code === 'ECONNREFUSED');
    const health = lab.client.health();
    expect(JSON.parse(JSON.stringify({ ...health }))).to.deep.equal(JSON.parse(JSON.stringify(health)));
    const { lastError } = JSON.parse(JSON.stringify({ ...health })) as { lastError: Record<string, string> };
    expect(lastError).to.have.keys('name', 'message', 'code');
  });
});
