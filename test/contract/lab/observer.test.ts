import { expect } from 'chai';
import { once, sent } from '../../../lab/proxy/frame-matches.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection } from '../../../lab/until.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';

describe('an observer', () => {
  let server: ZooKeeperServer;

  before(async () => (server = await startServer()));
  after(() => server.stop());

  it('sees and changes what is on the server', async () => {
    await using observer = await connectObserver(server.connectString);
    const path = testPath('').slice(0, -1);
    expect(await observer.exists(path)).to.equal(false);
    expect(await observer.children(path)).to.deep.equal([]);
    await observer.create(path);
    await observer.write(path, 'a text');
    expect(await observer.exists(path)).to.equal(true);
    expect(await observer.read(path)).to.equal('a text');
    expect((await rejection(observer.create(path))).message).to.contain('NODE_EXISTS');
    await observer.touch(path);
    expect(await observer.read(path)).to.equal('');
    await observer.remove(path);
    expect(await observer.exists(path)).to.equal(false);
  });

  it('knows the session of an ephemeral znode, and can end it', async () => {
    await using observer = await connectObserver(server.connectString);
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs: 30_000 });
    const hold = await new InterProcessMutex(client, testPath('observed')).acquire();
    const folder = hold.path.slice(0, hold.path.lastIndexOf('/'));
    expect((await observer.ephemerals(folder)).map(({ name, owner }) => [`${folder}/${name}`, owner])).to.deep.equal([
      [hold.path, client.session.id],
    ]);
    await observer.endSession(client);
    expect(await observer.exists(hold.path)).to.equal(false);
    expect(await aborted(hold.signal)).to.be.an.instanceOf(Error);
  });

  it('ends a session even if its own connection is lost before the close', async () => {
    await using proxy = await startProxy(server.port);
    await using observer = await connectObserver(proxy.connectString);
    await using client = await LockClient.connect(server.connectString, { sessionTimeoutMs: 30_000 });
    const hold = await new InterProcessMutex(client, testPath('comes-back')).acquire();
    once(proxy, sent('closeSession'), 'cut');
    await observer.endSession(client);
    expect(await observer.exists(hold.path)).to.equal(false);
  });

  it('continues to read after a restart of the server, and leaves nothing behind when it is closed without one', async () => {
    await using own = await startServer();
    const observer = await connectObserver(own.connectString);
    await own.kill();
    await own.start();
    expect(await observer.children('/')).to.deep.equal(['zookeeper']);
    await own.kill();
    await observer[Symbol.asyncDispose]();
  });
});
