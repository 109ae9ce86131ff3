import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { errorNumbers } from '../../../packages/testing/src/wire/refusal.ts';
import { ZooKeeperError } from '../../../src/zookeeper/wire/zookeeper-error.ts';
import type { FaultStep } from '../../../packages/testing/src/index.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { embeddedOfEachTest } from './support/embedded.ts';
import { PlainSession } from './support/plain-session.ts';

describe('the script of faults of an embedded ZooKeeper', () => {
  const clock = new ManualClock();
  const lab = embeddedOfEachTest({ clock });

  it('loses a request: the connection ends, and the request is not carried out', async () => {
    lab.zk.play([{ op: 'create2', fault: 'lose-request' }]);
    expect(await existsAfter({ path: '/lost' })).to.equal(false);
  });

  it('loses an answer: the connection ends, and the request is carried out', async () => {
    lab.zk.play([{ op: 'create2', fault: 'lose-answer' }]);
    expect(await existsAfter({ path: '/lost' })).to.equal(true);
  });

  it('loses the answer to the end of a session, too', async () => {
    lab.zk.play([{ op: 'closeSession', fault: 'lose-answer' }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    await session.request({ op: 'closeSession' }).catch(() => undefined);
    expect([session.isClosed, session.answers.length, lab.zk.sessionIds]).to.deep.equal([true, 0, []]);
  });

  it('ignores a request: it is neither carried out nor answered, and the connection stays', async () => {
    lab.zk.play([{ path: '/ignored', fault: 'ignore' }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    void session.create('/ignored', 0).catch(() => undefined);
    await session.create('/next', 0);
    expect(session.answers.length).to.equal(1);
    expect(await session.childrenOfRoot()).not.to.include('ignored');
  });

  it('ends a session with all its ephemeral znodes', async () => {
    const other = await PlainSession.open(lab.zk.port, 4_000);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    await session.create('/ephemeral', 1);
    lab.zk.play([{ sessionId: session.id, fault: 'expire-session' }]);
    expect(await other.childrenOfRoot()).to.include('ephemeral');
    await session.create('/never', 0).catch(() => undefined);
    expect([session.isClosed, await other.childrenOfRoot()]).to.deep.equal([true, ['zookeeper']]);
  });

  it('refuses a request with any error', async () => {
    lab.zk.play([{ op: 'create2', fault: { refuse: 'NO_AUTH' } }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    expect([(await session.create('/a', 0)).error, (await session.create('/a', 0)).error]).to.deep.equal([-102, 0]);
  });

  it('names the errors as ZooKeeperError does', () => {
    const names = Object.entries(errorNumbers).map(([name, number]) => [
      name,
      new ZooKeeperError(number, 'create2', '/a').code,
    ]);
    for (const [name, code] of names) expect(code).to.equal(name);
  });

  /** Two requests of one connection that wait for the clock. Those of the other connection are answered. */
  const delayed = async () => {
    lab.zk.play([{ path: '/slow', fault: { delayMs: 500 } }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    const other = await PlainSession.open(lab.zk.port, 4_000);
    const slow = [session.create('/slow', 0), session.create('/behind', 0)];
    await other.create('/quick', 0);
    await other.create('/quicker', 0);
    return { session, other, slow };
  };

  it('delays a request and the later requests of the same connection, but of no other', async () => {
    const { slow } = await delayed();
    clock.advance(500);
    expect((await Promise.all(slow)).map(({ zxid }) => zxid)).to.deep.equal([5, 6]);
  });

  it('carries out a request whose delay ends during a pause only after the pause', async () => {
    const { session, other, slow } = await delayed();
    lab.zk.pause();
    clock.advance(500);
    const during = other.childrenOfRoot();
    // An answer would arrive within these turns of the event loop.
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(session.answers.length).to.equal(0);
    lab.zk.resume();
    expect((await Promise.all(slow)).map(({ zxid }) => zxid)).to.deep.equal([5, 6]);
    await during;
  });

  it('forgets a delayed request when its connection ends', async () => {
    lab.zk.play([{ path: '/slow', fault: { delayMs: 500 } }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    const other = await PlainSession.open(lab.zk.port, 4_000);
    const timers = clock.timers;
    void session.create('/slow', 0).catch(() => undefined);
    await other.create('/quick', 0);
    await other.create('/quicker', 0);
    expect(clock.timers).to.equal(timers + 1);
    lab.zk.dropConnections();
    expect(clock.timers).to.equal(timers);
    clock.advance(500);
  });

  it('moves from step to step: `after` requests pass, then `times` requests get the fault', async () => {
    lab.zk.play([
      { op: 'create2', after: 1, times: 2, fault: { refuse: 'NO_AUTH' } },
      { op: 'create2', path: /^\/x/g, times: 2, fault: { refuse: 'BAD_VERSION' } },
    ]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    const errors: number[] = [];
    for (const path of ['/a', '/b', '/c', '/d', '/x', '/x2', '/x3']) errors.push((await session.create(path, 0)).error);
    expect(errors).to.deep.equal([0, -102, -102, 0, -103, -103, 0]);
  });

  it('finds the path of a multi in its first operation', async () => {
    lab.zk.play([{ op: 'multi', path: '/a', fault: { refuse: 'NO_AUTH' } }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    expect((await session.request({ op: 'multi', items: [{ op: 'check', path: '/b' }] })).error).to.equal(0);
    expect((await session.request({ op: 'multi', items: [{ op: 'check', path: '/a' }] })).error).to.equal(-102);
  });

  it('ignores a malformed request, which has no path', async () => {
    lab.zk.play([{ path: '/a', fault: 'ignore' }]);
    const session = await PlainSession.open(lab.zk.port, 4_000);
    expect((await session.request({ op: 'raw', opcode: 1, bytes: '0000' })).error).to.equal(-5);
  });

  it('ends when its function is called', async () => {
    const end = lab.zk.play([{ op: 'create2', times: 100, fault: { refuse: 'NO_AUTH' } }]);
    end();
    const session = await PlainSession.open(lab.zk.port, 4_000);
    expect((await session.create('/a', 0)).error).to.equal(0);
  });

  it('makes a lock find the znode whose creation was not answered', async () => {
    await using zk = await lab.start({});
    await using client = await LockClient.connect(zk.connectString);
    zk.play([{ path: /-lock-/, fault: 'lose-answer' }]);
    await using hold = await new InterProcessMutex(client, '/locks/a').acquire();
    const session = await PlainSession.open(zk.port, 4_000);
    const reader = (await session.request({ op: 'getChildren', path: '/locks/a' })).record();
    expect(reader.texts()).to.deep.equal([hold.path.slice('/locks/a/'.length)]);
  });

  for (const [step, message] of [
    [{ op: 'create3', fault: 'ignore' }, /`op` to be a request's name/],
    [{ path: 1, fault: 'ignore' }, /`path` to be a string or a RegExp, got 1/],
    [{ fault: 'forget' }, /`fault` to be one of 'lose-request'.*got "forget"/],
    [{ fault: { refuse: 'NO' } }, /`fault` to be one of/],
    [{ fault: { refuse: 'NO_AUTH', delayMs: 5 } }, /`fault` to be one of .*got an object with "refuse", "delayMs"/],
    [{ fault: { refuse: 'NO_AUTH', delay: 5 } }, /`fault` to be one of .*got an object with "refuse", "delay"/],
    [{ fault: { delayMs: -1 } }, /`delayMs` to be a finite number of milliseconds ≥ 0, got -1/],
    [{ after: 0.5, fault: 'ignore' }, /`after` to be an integer ≥ 0, got 0.5/],
    [{ times: 0, fault: 'ignore' }, /`times` to be an integer ≥ 1, got 0/],
    [
      { sessionId: 'mine', fault: 'ignore' },
      /`sessionId` to be a session's id such as '0x100003e1a2b0000', got "mine"/,
    ],
    [{ fault: 'ignore', when: 'now' }, /Unknown option `when` of a fault step/],
  ] as const)
    it(`refuses the step ${JSON.stringify(step)}`, () => {
      expect(() => lab.zk.play([step as unknown as FaultStep])).to.throw(message);
    });

  /** Returns true if the znode exists after its creation has met the fault. */
  async function existsAfter({ path }: { path: string }): Promise<boolean> {
    const session = await PlainSession.open(lab.zk.port, 4_000);
    await session.create(path, 0).catch(() => undefined);
    expect(session.isClosed).to.equal(true);
    const resumed = await PlainSession.open(lab.zk.port, 4_000, session.ticket);
    return (await resumed.request({ op: 'exists', path })).error === 0;
  }
});
