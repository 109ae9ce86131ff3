import { expect } from 'chai';
import type { EventEmitter } from 'node:events';
import type { Link } from '../../../src/zookeeper/network/network.ts';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { startProxy, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';

describe('a socket handler that throws', () => {
  const thrown = new Error('from a handler');
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let probe: ConnectionProbe;

  before(async () => (server = await startServer()));
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server.port);
    probe = await ConnectionProbe.connect([proxy.port]);
  });
  afterEach(async () => {
    probe[Symbol.dispose]();
    await proxy.close();
  });

  /** Makes a handler of the link's events throw, at the next use of this property. */
  const breakLink = (link: Link | undefined, property: 'write' | 'writableNeedDrain'): void => {
    Object.defineProperty(link, property, {
      get: () => {
        throw thrown;
      },
    });
  };

  /** Does so to the next link. */
  const breakNext = (property: 'write' | 'writableNeedDrain'): void => {
    probe.onDial = (link) => {
      probe.onDial = () => {};
      breakLink(link, property);
    };
  };

  const goesOn = async (): Promise<void> => {
    await probe.next('connected');
    await probe.send(exists('/'));
    expect(probe.warnings).to.deep.equal([thrown]);
  };

  it('(connect) ends the connection, and the client connects again', async () => {
    breakNext('write');
    proxy.cut();
    await goesOn();
  });

  it('(drain) ends the connection, and the client connects again', async () => {
    breakLink(probe.link, 'writableNeedDrain');
    (probe.link as EventEmitter | undefined)?.emit('drain');
    await goesOn();
  });

  it('(data) ends the connection, and the client connects again', async () => {
    breakNext('writableNeedDrain');
    proxy.cut();
    // The requests that wait are written when the session is granted.
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
