import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { onFreshPorts } from '../../../lab/servers/free-port.ts';
import { answered, from } from '../../../lab/proxy/frame-matches.ts';
import { startRelay } from '../../../lab/proxy/relay.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { nameOfServers as name, Resolver } from '../../../lab/resolver.ts';
import { testPath } from '../../../lab/test-path.ts';
import { virtualMachine } from '../../../lab/world.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { startProxy, type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';
import { nextState } from '../../../lab/lock-clients.ts';

describe('an address', () => {
  const lab = labOfEachTest('address', { server: 'own', client: 'none' });

  const acquires = async (client: LockClient): Promise<void> => {
    const mutex = new InterProcessMutex(client, testPath('address'));
    expect(await mutex.withLock((hold) => hold.isValid)).to.equal(true);
  };

  it('in IPv6 form stands in brackets', async () => {
    await onFreshPorts(1, async ([port = 0]) => {
      await using relay = await startRelay('::1', port, lab.server.port);
      await using client = await LockClient.connect(`[::1]:${port}`);
      await acquires(client);
      expect(relay.connections).to.equal(1);
    });
  });

  it('of a name with both families is the one on which a server listens', async () => {
    using resolver = new Resolver('::1', '127.0.0.1');
    await using client = await LockClient.connect(`${name}:${lab.server.port}`);
    await acquires(client);
    expect(resolver.addresses).to.have.length(2);
  });

  it('of a name with several servers is replaced by another one if a server refuses or stays silent', async () => {
    using resolver = new Resolver('127.0.0.2', '127.0.0.3');
    resolver.later.push('127.0.0.1');
    await onFreshPorts(1, async ([port = 0]) => {
      await using silent = await startRelay('127.0.0.3', port);
      await using served = await startRelay('127.0.0.1', port, lab.server.port);
      await using client = await LockClient.connect(`${name}:${port}`, { sessionTimeoutMs: 24_000 });
      await acquires(client);
      expect(served.connections).to.equal(1);
      // A machine that is slow at TLS takes longer than the start that one address has before the next.
      if (virtualMachine) expect(silent.connections).to.equal(1);
      else expect(silent.connections).to.be.within(1, 2);
    });
  });

  for (const [what, dials, judge] of [
    ['ends each connection at once', 2, (frame: Frame) => (answered('connect')(frame) ? 'cut-after' : undefined)],
    ['answers nothing else', 1, (frame: Frame) => (from('server', 'connect')(frame) ? undefined : 'drop')],
  ] as const)
    it(`of a name that grants the session and ${what} gives way to another one, and the hold stays`, async () => {
      using resolver = new Resolver('127.0.0.2');
      await using proxy = await startProxy(lab.server.port);
      await onFreshPorts(1, async ([port = 0]) => {
        await using failing = await startRelay('127.0.0.2', port, proxy.port);
        await using served = await startRelay('127.0.0.3', port, lab.server.port);
        await using client = await LockClient.connect(`${name}:${port}`, { sessionTimeoutMs: 4_000 });
        const hold = await new InterProcessMutex(client, testPath('gives-way')).acquire();
        resolver.addresses.push('127.0.0.3');
        proxy.on((frame) => (frame.from === 'server' ? judge(frame) : undefined));
        proxy.cut();
        await until('the other address is dialled', () => served.connections > 0);
        expect(failing.connections).to.equal(1 + dials);
        expect(await hold.release()).to.equal('released');
      });
    });

  it('of a name that moves is resolved again, and the session continues at the new address', async () => {
    await onFreshPorts(1, async ([port = 0]) => {
      using resolver = new Resolver('127.0.0.2');
      const before = await startRelay('127.0.0.2', port, lab.server.port);
      await using after = await startRelay('127.0.0.3', port, lab.server.port);
      await using client = await LockClient.connect(`${name}:${port}`, { sessionTimeoutMs: 30_000 });
      const hold = await new InterProcessMutex(client, testPath('moves')).acquire();

      resolver.addresses = ['127.0.0.3'];
      const suspended = nextState(client);
      await before[Symbol.asyncDispose]();
      expect(await suspended).to.equal('suspended');
      expect(await nextState(client)).to.equal('reconnected');
      expect(hold.isValid).to.equal(true);
      expect(after.connections).to.equal(1);
      expect(await hold.release()).to.equal('released');
    });
  });

  it('that now leads to another ensemble: the hold is lost, and the next session is there', async () => {
    await using other = await startServer();
    await using proxy = await startProxy(lab.server.port);
    await using client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 2_000 });
    const mutex = new InterProcessMutex(client, testPath('another'));
    const hold = await mutex.acquire();
    proxy.retarget(other.port);
    proxy.cut();
    // The new ensemble has seen fewer transactions than the session, and refuses it without a reply.
    expect(await aborted(hold.signal)).to.have.property('reason', 'session-deadline');
    await using next = await mutex.acquire();
    await using elsewhere = await connectObserver(other.connectString);
    expect(await elsewhere.exists(next.path)).to.equal(true);
  });

  it('of an unknown name is in the error, with the cause', async () => {
    const error = await rejection(LockClient.connect('nobody.invalid:2181', { connectionTimeoutMs: 200 }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.match(/nobody\.invalid:2181 .*(ENOTFOUND|EAI_AGAIN|none of them answered)/);
  });
});
