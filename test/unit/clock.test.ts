import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { expect } from 'chai';
import { systemClock } from '../../src/support/clock.ts';

describe('the system clock', () => {
  it('never calls early, not even by a fraction of a millisecond', async () => {
    for (const delayMs of [0, 0.4, 1, 1.6, 7.3]) {
      const startedAt = systemClock.now();
      await new Promise<void>((resolve) => systemClock.after(delayMs, resolve));
      expect(systemClock.now() - startedAt).to.be.at.least(delayMs);
    }
  });

  it('does not call at once for a delay that Node would reduce to 1 ms', async () => {
    let isCalled = false;
    const cancel = systemClock.after(2 ** 31, () => {
      isCalled = true;
    });
    await new Promise<void>((resolve) => systemClock.after(5, resolve));
    cancel();
    expect(isCalled).to.equal(false);
  });

  it('calls after unread data of a socket has been read', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const sender = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [receiver] = (await once(server, 'connection')) as [Socket];
    const order: string[] = [];
    receiver.on('data', () => order.push('read'));
    if (sender.connecting) await once(sender, 'connect');
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        // On the loopback interface, the data is already in the other socket when write returns.
        sender.write('x');
        systemClock.afterPoll(() => {
          order.push('judged');
          resolve();
        });
      }, 1);
    });
    expect(order).to.deep.equal(['read', 'judged']);
    sender.destroy();
    receiver.destroy();
    server.close();
  });

  it("is not affected by an application's fake timers", async () => {
    const {
      setTimeout: real,
      performance: { now },
    } = globalThis;
    globalThis.setTimeout = (() => {
      throw new Error('fake');
    }) as unknown as typeof setTimeout;
    performance.now = () => 0;
    try {
      const startedAt = systemClock.now();
      await new Promise<void>((resolve) => systemClock.after(2, resolve));
      expect(systemClock.now()).to.be.greaterThan(startedAt);
    } finally {
      globalThis.setTimeout = real;
      performance.now = now;
    }
  });
});
