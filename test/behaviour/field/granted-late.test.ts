import { expect } from 'chai';
import { LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { rejection, until } from '../../../lab/until.ts';
import { sleep } from '../../../lab/world.ts';
import { becomeQuiet, createParents, sessionsOn } from './support.ts';

describe('FIELD A7: a `connect` that rejects', function () {
  this.timeout(300_000);
  const lab = labOfEachTest('granted-late', { server: 'own', proxy: true, client: 'none' });
  const options = { sessionTimeoutMs: 30_000, connectionTimeoutMs: 1_000 };
  let before: Set<string>;
  beforeEach(async () => (before = await sessionsOn(lab)));
  /** The sessions since the test began. */
  const newSessions = async (): Promise<string[]> => [...(await sessionsOn(lab))].filter((id) => !before.has(id));

  /** The server grants the session, and its answer arrives so late. */
  const answersAfter = (ms: number): void =>
    void lab.proxy.on((frame) => (answered('connect')(frame) ? { delayUntil: sleep(ms) } : undefined));

  it('closes the session that the server grants a moment later', async () => {
    answersAfter(1_500);
    expect(await rejection(LockClient.connect(lab.proxy.connectString, options))).to.have.property(
      'code',
      'ERR_LOCK_CONNECTION_TIMEOUT',
    );
    await sleep(5_000);
    expect(await newSessions()).to.have.length(0);
  });

  it('leaves none of 20 sessions, one after another', async () => {
    answersAfter(1_100);
    for (let tries = 0; tries < 20; tries += 1) await rejection(LockClient.connect(lab.proxy.connectString, options));
    await sleep(5_000);
    expect(await newSessions()).to.have.length(0);
  });

  it('leaves none if its caller aborts', async () => {
    answersAfter(100);
    const stop = new AbortController();
    const connecting = rejection(LockClient.connect(lab.proxy.connectString, { ...options, signal: stop.signal }));
    await lab.proxy.seen(answered('connect'));
    stop.abort(new Error('enough'));
    expect((await connecting).message).to.equal('enough');
    await sleep(5_000);
    expect(await newSessions()).to.have.length(0);
  });

  it('closes it also if its answer comes only after the connection has ended', async () => {
    answersAfter(5_000);
    await rejection(LockClient.connect(lab.proxy.connectString, options));
    await sleep(10_000);
    expect(await newSessions()).to.have.length(0);
  });

  it('keeps nothing alive and dials no more, if no answer comes', async () => {
    lab.proxy.on((frame) => (answered('connect')(frame) ? 'drop' : undefined));
    await rejection(LockClient.connect(lab.proxy.connectString, options));
    await sleep(5_000);
    const { dials } = lab.proxy;
    await sleep(60_000);
    expect(lab.proxy.dials).to.equal(dials);
  });
});

describe('FIELD A7: a client that resumes its session, and gives an attempt up', function () {
  this.timeout(100_000);
  const sessionTimeoutMs = 10_000;
  const keeper = labOfEachTest('late-other', {
    server: { keeper: 'containers' },
    proxy: true,
    client: { sessionTimeoutMs },
  });
  const zookeeper = labOfEachTest('late-same', { server: 'own', proxy: true, client: { sessionTimeoutMs } });

  it('closes another session that the server grants in its place afterwards', async () => {
    const { mutex, proxy } = keeper;
    const askedAgain = proxy.seen(sent('connect'), 3);
    once(proxy, answered('connect'), { delayUntil: askedAgain.then(() => sleep(10)) });
    proxy.cut();
    const { body } = await proxy.seen(answered('connect'), 2);
    await askedAgain;
    await sleep(100);
    expect(await sessionsOn(keeper)).to.not.include(`0x${body.readBigInt64BE(8).toString(16)}`);
    await mutex.withLock(() => undefined);
  });

  it('keeps its session if the server resumes it afterwards', async () => {
    const { client, mutex, proxy } = zookeeper;
    const { sessionId } = client.health();
    await using hold = await mutex.acquire();
    const asked = proxy.seen(sent('connect'), 2);
    // No other attempt reaches the server before its answer arrives.
    const { dials } = proxy;
    const givenUp = until('the next attempt', () => proxy.dials > dials + 1);
    once(proxy, answered('connect'), { delayUntil: givenUp.then(() => sleep(10)) });
    proxy.cut();
    await asked;
    await proxy.refuse();
    await proxy.seen(answered('connect'), 2);
    await givenUp;
    await sleep(100);
    await proxy.accept();
    await sleep(2 * sessionTimeoutMs);
    expect(client.health()).to.include({ state: 'reconnected', sessionId });
    expect(hold.isValid).to.equal(true);
  });
});

describe('FIELD A8: every ConnectRequest', function () {
  this.timeout(100_000);
  const sessionTimeoutMs = 6_000;
  const lab = labOfEachTest('read-only-byte', { server: 'own', proxy: true, client: { sessionTimeoutMs } });
  const lastBytes = (): number[] =>
    lab.proxy.frames.filter(sent('connect')).map(({ body }) => (body.length === 45 ? (body.at(-1) ?? -1) : -1));

  it('ends with the byte `readOnly`, which is false: of a new session, a reconnect and an attach', async () => {
    await createParents(lab.client, lab.path);
    lab.proxy.cut();
    await becomeQuiet(sessionTimeoutMs);
    await lab.mutex.withLock(() => undefined);
    expect(lastBytes()).to.deep.equal([0, 0, 0]);
  });

  it('ends with it for the end of an abandoned session', async () => {
    const hold = await lab.mutex.acquire();
    lab.proxy.silence();
    await sleep(2 * sessionTimeoutMs);
    lab.proxy.cut();
    lab.proxy.speak();
    await sleep(sessionTimeoutMs);
    expect(hold.isValid).to.equal(false);
    const all = lastBytes();
    expect(all.length).to.be.above(1);
    expect(new Set(all)).to.deep.equal(new Set([0]));
  });
});
