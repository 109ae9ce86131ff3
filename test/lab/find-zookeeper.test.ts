import { expect } from 'chai';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { dockerHasImage } from '../../lab/servers/docker-zookeeper.ts';
import { findZooKeeper } from '../../lab/servers/find-zookeeper.ts';
import { startSilentServer } from '../../lab/servers/silent-server.ts';

describe('findZooKeeper', () => {
  const saved = { ...process.env };
  afterEach(() => (process.env = { ...saved }));

  it('starts nothing if ZOOKEEPER_CONNECT is set', async () => {
    process.env['ZOOKEEPER_CONNECT'] = 'zk1:2181';
    const found = await findZooKeeper();
    await found.stop();
    expect([found.connectString, found.how]).to.deep.equal(['zk1:2181', 'ZOOKEEPER_CONNECT']);
  });

  describe('by Docker', () => {
    it('is impossible if no engine listens', async () => {
      process.env['DOCKER_HOST'] = 'unix:///nowhere/docker.sock';
      expect(await dockerHasImage('zookeeper:3.9')).to.equal(false);
    });

    it('is impossible if the engine does not answer in time', async () => {
      await using silent = await startSilentServer();
      process.env['DOCKER_HOST'] = `tcp://127.0.0.1:${silent.port}`;
      expect(await dockerHasImage('zookeeper:3.9', 200)).to.equal(false);
      await silent.connected(); // this process may accept it after the limit
      expect(silent.connections.length).to.equal(1);
    });

    it('is possible if the engine has the image', async () => {
      const engine = createServer((request, response) =>
        response.writeHead(request.url === '/images/zookeeper:3.9/json' ? 200 : 404).end(),
      );
      await once(engine.listen(0, '127.0.0.1'), 'listening');
      process.env['DOCKER_HOST'] = `tcp://127.0.0.1:${(engine.address() as AddressInfo).port}`;
      expect(await dockerHasImage('zookeeper:3.9')).to.equal(true);
      expect(await dockerHasImage('zookeeper:3.8')).to.equal(false);
      await once(engine.close(), 'close');
    });
  });
});
