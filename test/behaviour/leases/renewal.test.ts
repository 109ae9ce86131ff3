import { expect } from 'chai';
import { InterProcessMutex, LockClient, LockLostError, NotOwnedError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, until } from '../../../lab/until.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';
import { queueOf } from '../../../lab/queue.ts';
import { codeMs, virtualMachine } from '../../../lab/world.ts';

describe('renewing a lease', () => {
  const lab = labOfEachTest('renewal');

  it('lets the lease last for the new time from then on', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 600_000 });
    hold.renew(2_000);
    expect(hold.remainingMs).to.be.closeTo(2_000, codeMs);
    hold.renew(600_000);
    // The session limits it now.
    expect(hold.remainingMs).to.be.closeTo(lab.client.health().remainingMs, codeMs).and.above(2_000);
    hold.renew(50);
    const renewedAt = lab.now();
    expect(await aborted(hold.signal))
      .to.have.property('message')
      .that.contains('its lease of 50 ms ended without a renewal');
    expect(lab.now() - renewedAt).to.be.closeTo(50, codeMs);
  });

  it('begins a lease if there was none', async () => {
    const hold = await lab.mutex.acquire();
    hold.renew(50);
    await (await lab.theirs.acquire()).release();
    expect(hold.signal.reason).to.include({ reason: 'lease-expired' });
  });

  it('with renewEveryMs keeps the lock while the process runs', async () => {
    const hold = await lab.mutex.acquire({ leaseMs: 20_000, renewEveryMs: 20 });
    let renewals = 0;
    lab.mutex.on('renewed', (event) => {
      expect(event.hold).to.equal(hold);
      expect(event.remainingMs).to.be.closeTo(20_000, codeMs);
      renewals += 1;
    });
    await until('the lease is renewed three times', () => renewals >= 3);
    expect(await queueOf(lab.theirs)).to.deep.equal([hold.path]);
    expect(await hold.release()).to.equal('released');
    let late = 0;
    lab.mutex.on('renewed', () => (late += 1));
    await lab.sleep(100);
    expect(late).to.equal(0);
  });

  it('sends nothing, and continues during an outage and after it', async () => {
    const server = await startServer({ tickTimeMs: 2_000 });
    const client = await LockClient.connect(server.connectString, { sessionTimeoutMs: 20_000 });
    try {
      const mutex = new InterProcessMutex(client, testPath('restart'));
      let renewals = 0;
      mutex.on('renewed', () => (renewals += 1));
      const hold = await mutex.acquire({ leaseMs: 5_000, renewEveryMs: 50 });
      const { signal } = hold;
      const renewed = async (): Promise<void> => {
        const reached = renewals + 3;
        await until('the lease is renewed three times', () => renewals >= reached);
        hold.renew(5_000);
      };
      await renewed();
      await server.kill();
      await until('the client is suspended', () => client.state === 'suspended');
      await renewed();
      await server.start();
      await until('the client is reconnected', () => client.state === 'reconnected');
      await renewed();
      expect([hold.isValid, signal.aborted]).to.deep.equal([true, false]);
      expect(await hold.release()).to.equal('released');
    } finally {
      await client.close({ timeoutMs: 500 });
      await server.stop();
    }
  });

  describe('after the end', () => {
    it('of the lease is refused with the requested time, and the time since the end', async () => {
      const hold = await lab.mutex.acquire({ leaseMs: 40 });
      await aborted(hold.signal);
      const since = virtualMachine ? '0' : '[\\d.]+';
      const text = `it cannot be renewed for 3000 ms, because it ended ${since} ms ago: .* its lease of 40 ms ended without`;
      expect(() => hold.renew(3_000))
        .to.throw(LockLostError, new RegExp(`^The lock held by .* was lost: ${text} a renewal$`))
        .and.to.deep.include({ reason: 'lease-expired', cause: hold.signal.reason as Error });
      expect(hold.isValid).to.equal(false);
    });

    it('by another loss is refused with the cause', async () => {
      const hold = await lab.mutex.acquire({ leaseMs: 60_000 });
      await lab.observer.remove(hold.path);
      await aborted(hold.signal);
      expect(() => hold.renew(3_000))
        .to.throw(
          LockLostError,
          /renewed for 3000 ms, because it ended [\d.]+ ms ago: .*another client deleted its znode/,
        )
        .and.to.include({ reason: 'node-deleted' });
    });

    it('by a release is refused, because the caller no longer owns the lock', async () => {
      const hold = await lab.mutex.acquire({ leaseMs: 60_000 });
      await hold.release();
      expect(() => hold.renew(3_000)).to.throw(
        NotOwnedError,
        /^You do not own the lock: \S+: it cannot be renewed for 3000 ms, because it ended [\d.]+ ms ago, when it was released$/,
      );
    });
  });
});
