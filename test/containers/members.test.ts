import { expect } from 'chai';
import { InterProcessMutex, LockClient, type Hold } from '../../src/index.ts';
import { ComposeEnsemble, type ComposeMember } from '../../lab/servers/docker/compose-ensemble.ts';
import { fourLetterWord } from '../../lab/servers/four-letter-word.ts';
import { testPath } from '../../lab/test-path.ts';
import { until } from '../../lab/until.ts';

const minuteMs = 60_000;

describe('a member of the ensemble in containers that is stopped and started', () => {
  let ensemble: ComposeEnsemble;
  let holder: LockClient;
  let waiter: LockClient;
  let hold: Hold;
  let waiting: Waiting;

  before(async function () {
    this.timeout(2 * minuteMs);
    ensemble = await ComposeEnsemble.start();
  });

  after(async function () {
    this.timeout(2 * minuteMs);
    await ensemble.stop();
  });

  beforeEach(async () => {
    const path = testPath('outage');
    [holder, waiter] = await Promise.all([
      LockClient.connect(ensemble.connectString),
      LockClient.connect(ensemble.connectString),
    ]);
    const mutex = new InterProcessMutex(holder, path);
    hold = await mutex.acquire();
    waiting = new Waiting(new InterProcessMutex(waiter, path).acquire());
    await until('both are in the queue', async () => (await mutex.participants()).length === 2);
  });

  afterEach(async function () {
    this.timeout(minuteMs);
    await Promise.all([holder.close(), waiter.close()]);
  });

  it("may be the holder's member: the hold stays valid, and the waiter gets the lock after it", async function () {
    this.timeout(2 * minuteMs);
    const member = await memberOf(holder);
    const reconnected = reaches(holder, 'reconnected');
    await ensemble.stopMember(member);
    await reconnected;
    expect(await memberOf(holder)).not.to.equal(member);
    expect({ isValid: hold.isValid, granted: waiting.isGranted }).to.deep.equal({ isValid: true, granted: false });
    await ensemble.startMember(member);
    await isHandedOver();
  });

  it("may be the waiter's member, and be down when the lock is released: the waiter still gets the lock", async function () {
    this.timeout(2 * minuteMs);
    const member = await memberOf(waiter);
    await ensemble.stopMember(member);
    await isHandedOver();
    await ensemble.startMember(member);
  });

  it('may be each member in turn, including the leader: a hold outlives a rolling restart, and the waiter keeps its place', async function () {
    this.timeout(4 * minuteMs);
    const place = (
      await new InterProcessMutex(waiter, hold.path.slice(0, hold.path.lastIndexOf('/'))).participants()
    )[1]?.path;
    for (const member of ensemble.members) {
      await ensemble.stopMember(member);
      await ensemble.startMember(member);
      expect({ isValid: hold.isValid, granted: waiting.isGranted }, member.name).to.deep.equal({
        isValid: true,
        granted: false,
      });
    }
    expect((await isHandedOver()).path).to.equal(place);
  });

  async function isHandedOver(): Promise<Hold> {
    expect(await hold.release()).to.equal('released');
    const next = await waiting.hold;
    expect(next.isValid).to.equal(true);
    expect(next.fencingToken > hold.fencingToken).to.equal(true);
    await next.release();
    return next;
  }

  async function memberOf(client: LockClient): Promise<ComposeMember> {
    const session = `sid=0x${client.session.id.toString(16)}`;
    for (const member of ensemble.members) {
      const connections = await fourLetterWord('127.0.0.1', member.port, 'cons').catch(() => '');
      if (connections.includes(session)) return member;
    }
    throw new Error(`No member has a connection with ${session}`);
  }
});

class Waiting {
  isGranted = false;
  readonly hold: Promise<Hold>;

  constructor(acquire: Promise<Hold>) {
    this.hold = acquire.then((hold) => {
      this.isGranted = true;
      return hold;
    });
    // The test that awaits it gets the failure.
    this.hold.catch(() => undefined);
  }
}

function reaches(client: LockClient, state: LockClient['state']): Promise<void> {
  return new Promise((resolve) => {
    client.on('state', (now) => {
      if (now === state) resolve();
    });
  });
}
