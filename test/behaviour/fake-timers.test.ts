import { expect } from 'chai';
import { mock } from 'node:test';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';

describe('fake timers of a test library', () => {
  let connectString: string;

  before(async () => {
    ({ connectString } = await sharedZooKeeper());
  });
  afterEach(() => mock.timers.reset());

  it('stop no connect, wait, timeout, heartbeat or close', async () => {
    await using elsewhere = await LockClient.connect(connectString);
    mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] });
    await using client = await LockClient.connect(connectString, { sessionTimeoutMs: 6_000 });
    const path = testPath('fake');
    const there = await new InterProcessMutex(elsewhere, path).acquire();
    const mutex = new InterProcessMutex(client, path);
    expect(await rejection(mutex.acquire({ timeoutMs: 20 }))).to.have.property('code', 'ERR_LOCK_TIMEOUT');
    const waiting = mutex.acquire();
    await there.release();
    const hold = await waiting;

    const { deadline } = client.session;
    while (client.session.deadline === deadline) await client.session.prove();
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
  });
});
