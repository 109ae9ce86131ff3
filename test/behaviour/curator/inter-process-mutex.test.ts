import { expect } from 'chai';
import { InterProcessMutex, LockClient, revoke } from '../../../src/index.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, until } from '../../../lab/until.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';
import { gate } from '../../../lab/gate.ts';

describe('TestInterProcessMutex', () => {
  it('testRevoking: a holder that is asked to release does so, and the next one is granted', async () => {
    await using server = await startServer();
    await using client = await LockClient.connect(server.connectString);
    const mutex = new InterProcessMutex(client, testPath('revoking'));
    const asked = gate();
    mutex.makeRevocable(() => asked.open());
    const hold = await mutex.acquire();
    const holder = asked.opened.then(() => hold.release());

    const [participant, ...others] = await mutex.participants();
    expect(others).to.deep.equal([]);
    expect(participant?.data.length).to.equal(0);
    await revoke(client, participant?.path ?? '');
    const next = await new InterProcessMutex(client, mutex.path).acquire({ timeoutMs: 5_000 });
    expect(await holder).to.equal('released');
    await next.release();
  });

  it('testPersistentLock: a persistent parent survives expiry and release, a container does not', async () => {
    await using server = await startServer({ containerCheckMs: 10 });
    await using outside = await connectObserver(server.connectString);
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs: 10_000 });
    const path = testPath('persistent').replace(/\/persistent$/, '');
    await outside.create(path);
    const mutex = new InterProcessMutex(client, path);
    const hold = await mutex.acquire({ timeoutMs: 10_000 });
    expect(mutex.isAcquiredInThisProcess).to.equal(true);

    const loss = aborted(hold.signal);
    await outside.endSession(client);
    await loss;
    expect(await outside.exists(path)).to.equal(true);
    expect(await outside.exists(hold.path)).to.equal(false);
    expect(await hold.release()).to.equal('lost');

    const again = await mutex.acquire({ timeoutMs: 10_000 });
    await again.release();
    expect(await outside.exists(again.path)).to.equal(false);

    const container = testPath('container');
    await new InterProcessMutex(client, container).withLock(() => undefined);
    await until('the server has removed the empty container', async () => !(await outside.exists(container)));
    expect(await outside.exists(path)).to.equal(true);
  });
});
