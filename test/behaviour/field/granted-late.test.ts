import { expect } from 'chai';
import { LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered, sent } from '../../../lab/proxy/frame-matches.ts';
import { rejection } from '../../../lab/until.ts';
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

  it('keeps nothing alive and dials no more, if no answer comes', async () => {
    lab.proxy.on((frame) => (answered('connect')(frame) ? 'drop' : undefined));
    await rejection(LockClient.connect(lab.proxy.connectString, options));
    await sleep(5_000);
    const { dials } = lab.proxy;
    await sleep(60_000);
    expect(lab.proxy.dials).to.equal(dials);
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
