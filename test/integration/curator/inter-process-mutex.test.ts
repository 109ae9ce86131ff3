import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { aborted, until } from '../../support/until.ts';
import { startServer } from '../../support/zookeeper-server.ts';

describe('TestInterProcessMutex', () => {
  it('testPersistentLock: a persistent parent survives the expiry of the session and the release, unlike the znode, and unlike a container', async () => {
    await using server = await startServer({ containerCheckMs: 10 });
    await using outside = await stranger(server.connectString);
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs: 10_000 });
    const path = testPath('persistent').replace(/\/persistent$/, '');
    await outside.create(path);
    const mutex = new InterProcessMutex(client, path);
    const hold = await mutex.acquire({ timeoutMs: 10_000 });
    expect(mutex.isAcquiredInThisProcess).to.equal(true);

    const told = aborted(hold.signal);
    await outside.endSession(client);
    await told;
    expect(await outside.exists(path)).to.equal(true);
    expect(await outside.exists(hold.path)).to.equal(false);
    expect(await hold.release()).to.equal('lost');

    const again = await mutex.acquire({ timeoutMs: 10_000 });
    await again.release();
    expect(await outside.exists(again.path)).to.equal(false);

    const container = testPath('container');
    await new InterProcessMutex(client, container).withLock(() => undefined);
    await until('the server has looked for empty containers', async () => !(await outside.exists(container)));
    expect(await outside.exists(path)).to.equal(true);
  });
});
