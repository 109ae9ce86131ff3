import { expect } from 'chai';
import type { Socket } from 'node:net';
import { exists } from '../../../src/zookeeper/operations.ts';
import { startProxy, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';

describe('a socket handler that throws', () => {
  const thrown = new Error('from a handler');
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let probe: ConnectionProbe;

  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server.port);
    probe = await ConnectionProbe.connect([proxy.port]);
  });
  afterEach(async () => {
    probe[Symbol.dispose]();
    await proxy.close();
  });

  /** Makes the library's own handler throw the next time that it runs. */
  const breakOnce = (name: 'onSocketConnected' | 'onSocketDrain'): void => {
    const original = probe.manager[name];
    probe.manager[name] = () => {
      probe.manager[name] = original;
      throw thrown;
    };
  };

  const goesOn = async (): Promise<void> => {
    await probe.next('connected');
    await probe.send(exists('/'));
    expect(probe.warnings).to.deep.equal([thrown]);
  };

  it('(connect) ends the connection, and the client connects again', async () => {
    breakOnce('onSocketConnected');
    proxy.cut();
    await goesOn();
  });

  it('(drain) ends the connection, and the client connects again', async () => {
    breakOnce('onSocketDrain');
    (probe.manager.socket as Socket | undefined)?.emit('drain');
    await goesOn();
  });

  it('(data) ends the connection, and the client connects again', async () => {
    breakOnce('onSocketDrain');
    proxy.cut();
    // The handler runs when the session is granted.
    await probe.next('connected');
    await goesOn();
  });

  it('(close) does not prevent the next connection', async () => {
    let isFirst = true;
    probe.on('disconnected', () => {
      if (!isFirst) return;
      isFirst = false;
      throw thrown;
    });
    proxy.cut();
    await goesOn();
  });
});
