import { expect } from 'chai';
import { connect, createServer } from 'node:net';
import { EventEmitter, once } from 'node:events';
import { isFree } from '../../../lab/servers/free-port.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { startProxy, type Frame, type FrameAction, type FrameRule, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { withError } from '../../../lab/proxy/zk-frame.ts';
import { encode } from '../../../lab/wire/request.ts';
import { testPath } from '../../../lab/test-path.ts';
import { dial, type WireClient } from '../../../lab/wire/wire-client.ts';

const reply = (op: Frame['op']) => (frame: Frame) => frame.from === 'server' && frame.op === op;
const request = (op: Frame['op']) => (frame: Frame) => frame.from === 'client' && frame.op === op;
const flat = (): string => testPath('').slice(0, -1); // raw clients create no parents

describe('ZkProxy', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: WireClient;

  before(async () => (server = await startServer()));
  after(() => server.stop());
  beforeEach(async () => {
    proxy = await startProxy(server.port);
    client = await dial(proxy.port).opened();
  });
  afterEach(async () => {
    client[Symbol.dispose]();
    await proxy.close();
  });

  it('knows the op, path, xid and error of every frame in both directions', async () => {
    const path = flat();
    await client.request({ op: 'create2', path });
    await client.request({ op: 'exists', path: `${path}-missing` });
    await client.request({ op: 'ping' });
    expect(proxy.frames.map(({ from, op, xid, err, path: about }) => [from, op, xid, err, about])).to.deep.equal([
      ['client', 'connect', 0, undefined, undefined],
      ['server', 'connect', 0, undefined, undefined],
      ['client', 'create2', 1, undefined, path],
      ['server', 'create2', 1, 0, path],
      ['client', 'exists', 2, undefined, `${path}-missing`],
      ['server', 'exists', 2, -101, `${path}-missing`],
      ['client', 'ping', -2, undefined, undefined],
      ['server', 'ping', -2, 0, undefined],
    ]);
  });

  it('knows the path of a notification', async () => {
    const path = flat();
    await client.request({ op: 'create', path });
    await client.request({ op: 'getData', path, watch: true });
    await client.request({ op: 'delete', path });
    const frame = await proxy.seen((each) => each.op === 'watch');
    expect([frame.from, frame.xid, frame.path]).to.deep.equal(['server', -1, path]);
  });

  it('knows the path of the first operation of a multi', async () => {
    const xid = client.send({ op: 'multi', items: [{ op: 'check', path: '/zookeeper' }] });
    expect((await client.answerTo(xid)).error).to.equal(0);
    expect(proxy.frames.filter(({ op }) => op === 'multi').map(({ path }) => path)).to.deep.equal([
      '/zookeeper',
      '/zookeeper',
    ]);
  });

  it('joins frames that arrive in pieces', async () => {
    const xid = 1;
    for (const byte of encode(xid, { op: 'exists', path: '/zookeeper' })) {
      client.write(Buffer.of(byte));
      await new Promise(setImmediate); // each byte in a packet of its own
    }
    expect((await client.answerTo(xid)).error).to.equal(0);
    expect((await proxy.seen(request('exists'))).path).to.equal('/zookeeper');
  });

  it('drops one reply, and still knows the next one', async () => {
    const remove = proxy.on((frame) => (frame.from === 'server' && frame.xid === 1 ? 'drop' : undefined));
    client.send({ op: 'exists', path: '/a' });
    const next = await client.request({ op: 'getData', path: '/zookeeper' });
    remove();
    expect(next.error).to.equal(0);
    expect(client.answers.map(({ xid }) => xid)).to.deep.equal([2]);
  });

  it('knows the replies that follow a dropped request', async () => {
    proxy.on((frame) => (request('exists')(frame) ? 'drop' : undefined));
    client.send({ op: 'exists', path: '/dropped' });
    await client.request({ op: 'getData', path: '/zookeeper' });
    expect(proxy.frames.filter(({ from }) => from === 'server').map(({ op }) => op)).to.deep.equal([
      'connect',
      'getData',
    ]);
  });

  it('cuts before a reply, so that the change is made but not answered', async () => {
    const path = flat();
    proxy.on((frame) => (reply('create2')(frame) ? 'cut' : undefined));
    client.send({ op: 'create2', path });
    await client.closed;
    expect(client.answers).to.deep.equal([]);
    using other = await dial(server.port).opened();
    expect((await other.request({ op: 'exists', path })).error).to.equal(0);
  });

  it('cuts before a request, so that nothing is changed', async () => {
    const path = flat();
    proxy.on((frame) => (request('create2')(frame) ? 'cut' : undefined));
    client.send({ op: 'create2', path });
    await client.closed;
    using other = await dial(server.port).opened();
    expect((await other.request({ op: 'exists', path })).error).to.equal(-101);
  });

  it('cuts inside a reply, so that half of it arrives', async () => {
    proxy.on((frame) => (reply('exists')(frame) ? 'cut-inside' : undefined));
    const before = client.bytesReceived;
    client.send({ op: 'exists', path: '/zookeeper' });
    const frame = await proxy.seen(reply('exists'));
    await client.closed;
    expect(client.bytesReceived - before).to.equal((4 + frame.body.length) / 2);
    expect(client.answers).to.deep.equal([]);
  });

  it('replaces the error of a reply, and leaves out its body', async () => {
    proxy.on((frame) => (reply('exists')(frame) ? { replaceError: -125 } : undefined));
    const answer = await client.request({ op: 'exists', path: '/zookeeper' });
    expect(answer.error).to.equal(-125);
    expect(answer.bytes.length).to.equal(16);
  });

  it('replaces errors in replies only', async () => {
    await client.request({ op: 'getData', path: '/zookeeper', watch: true });
    for (const frame of proxy.frames.filter(({ op, from }) => op === 'connect' || from === 'client'))
      expect(() => withError(frame, -125)).to.throw(TypeError, `not for a ${frame.op} frame from the ${frame.from}`);
  });

  it('delays a frame and all later frames until a promise settles, in their order', async () => {
    const gate = new EventEmitter();
    const opened = once(gate, 'open');
    proxy.on((frame) => (frame.from === 'server' && frame.xid === 1 ? { delayUntil: opened } : undefined));
    client.send({ op: 'exists', path: '/a' });
    const second = client.send({ op: 'exists', path: '/b' });
    await proxy.seen(reply('exists'), 2);
    expect(client.answers).to.deep.equal([]);
    gate.emit('open');
    await client.answerTo(second);
    expect(client.answers.map(({ xid }) => xid)).to.deep.equal([1, 2]);
  });

  it('keeps the order of the frames that it held together when it delays the first', async () => {
    const gate = new EventEmitter();
    const opened = once(gate, 'open');
    const remove = proxy.on((frame) => (reply('exists')(frame) ? 'hold' : undefined));
    client.send({ op: 'exists', path: '/a' });
    client.send({ op: 'exists', path: '/b' });
    const last = client.send({ op: 'getData', path: '/zookeeper' });
    await proxy.seen(reply('getData'));
    remove();
    proxy.on((frame) => (frame.from === 'server' && frame.xid === 2 ? { delayUntil: opened } : undefined));
    proxy.speak();
    await client.answerTo(1);
    gate.emit('open');
    await client.answerTo(last);
    expect(client.answers.map(({ xid }) => xid)).to.deep.equal([1, 2, 3]);
  });

  it('continues when the promise of a delay is rejected', async () => {
    proxy.on((frame) => (reply('exists')(frame) ? { delayUntil: Promise.reject(new Error('expected')) } : undefined));
    expect((await client.request({ op: 'exists', path: '/zookeeper' })).error).to.equal(0);
  });

  it('holds one direction from a frame on, until the test ends the silence', async () => {
    const path = flat();
    proxy.on((frame) => (reply('create')(frame) ? 'hold' : undefined));
    const created = client.send({ op: 'create', path });
    const deleted = client.send({ op: 'delete', path });
    await proxy.seen(reply('delete'));
    expect(client.answers).to.deep.equal([]);
    proxy.speak();
    expect((await client.answerTo(created)).error).to.equal(0);
    expect((await client.answerTo(deleted)).error).to.equal(0);
  });

  it('is silent in both directions while sockets stay open, and delivers afterwards', async () => {
    const path = flat();
    proxy.silence();
    const xid = client.send({ op: 'create', path });
    await proxy.seen(request('create'));
    using other = await dial(server.port).opened();
    expect((await other.request({ op: 'exists', path })).error).to.equal(-101);
    proxy.speak();
    expect((await client.answerTo(xid)).error).to.equal(0);
  });

  it("holds the server's data while it is silent", async () => {
    const path = flat();
    await client.request({ op: 'create', path });
    await client.request({ op: 'getData', path, watch: true });
    proxy.silence();
    using other = await dial(server.port).opened();
    await other.request({ op: 'delete', path });
    await proxy.seen((frame) => frame.op === 'watch');
    expect(client.answers.some(({ xid }) => xid === -1)).to.equal(false);
    proxy.speak();
    await client.answerTo(-1);
  });

  it("does not forward a client's close to the server during the silence", async () => {
    const path = flat();
    proxy.silence();
    client.send({ op: 'create', path });
    await proxy.seen(request('create'));
    client[Symbol.dispose]();
    await client.closed;
    using other = await dial(server.port).opened();
    expect((await other.request({ op: 'exists', path })).error).to.equal(-101);
    proxy.speak();
    while ((await other.request({ op: 'exists', path })).error !== 0);
  });

  it('accepts connections during the silence, and answers them afterwards', async () => {
    const judged: Frame[] = [];
    proxy.on((frame) => {
      judged.push(frame);
      return undefined;
    });
    proxy.silence();
    using other = dial(proxy.port);
    await proxy.seen(request('connect'), 2);
    expect(judged).to.deep.equal([]);
    proxy.speak();
    await other.opened();
    using next = await dial(proxy.port).opened();
    expect([other.isOpen, next.isOpen]).to.deep.equal([true, true]);
  });

  it('cuts all connections, and accepts new ones', async () => {
    proxy.cut();
    await client.closed;
    using other = await dial(proxy.port).opened();
    expect((await other.request({ op: 'exists', path: '/zookeeper' })).error).to.equal(0);
    expect(proxy.frames.at(-1)?.connection).to.equal(2);
  });

  it("closes the server's connection when the client closes its own", async () => {
    const before = await server.command('cons');
    client[Symbol.dispose]();
    await connectionsBelow(server, before.trim().split('\n').length);
  });

  it('accepts again even if another process takes its port for a moment', async () => {
    await proxy.refuse();
    const passer = createServer();
    await once(passer.listen(proxy.port, '127.0.0.1'), 'listening');
    const accepting = proxy.accept();
    setTimeout(() => passer.close(), 50);
    await accepting;
    using again = await dial(proxy.port).opened();
    expect(again.isOpen).to.equal(true);
  });

  it('gives its port to no other server of this process while it refuses', async () => {
    await proxy.refuse();
    expect(await isFree(proxy.port)).to.equal(false);
    const { port } = proxy;
    await proxy.close();
    expect(await isFree(port)).to.equal(true);
  });

  it('refuses connections on its port, keeps the present ones, and accepts again', async () => {
    await proxy.refuse();
    expect(await dialError(proxy.port)).to.equal('ECONNREFUSED');
    expect((await client.request({ op: 'exists', path: '/zookeeper' })).error).to.equal(0);
    await proxy.accept();
    using other = await dial(proxy.port).opened();
    expect((await other.request({ op: 'exists', path: '/zookeeper' })).error).to.equal(0);
  });

  it('ends a connection whose server cannot be reached, and reaches the next target', async () => {
    await using gone = await startProxy(server.port);
    const nowhere = gone.port;
    await gone.refuse();
    proxy.retarget(nowhere);
    using lost = dial(proxy.port);
    await lost.closed;
    proxy.retarget(server.port);
    using found = await dial(proxy.port).opened();
    expect((await found.request({ op: 'exists', path: '/zookeeper' })).error).to.equal(0);
  });

  it('asks its rules in order, until one of them decides', async () => {
    const asked: string[] = [];
    const rule =
      (name: string, action?: FrameAction): FrameRule =>
      (frame) => {
        if (!reply('exists')(frame)) return undefined;
        asked.push(name);
        return action;
      };
    const removeFirst = proxy.on(rule('first'));
    proxy.on(rule('second', 'pass'));
    proxy.on(rule('third'));
    await client.request({ op: 'exists', path: '/zookeeper' });
    removeFirst();
    await client.request({ op: 'exists', path: '/zookeeper' });
    expect(asked).to.deep.equal(['first', 'second', 'second']);
  });

  it('waits for the n-th frame, and counts earlier frames', async () => {
    await client.request({ op: 'exists', path: '/a' });
    const second = proxy.seen(reply('exists'), 2);
    await client.request({ op: 'exists', path: '/b' });
    expect((await second).path).to.equal('/b');
    expect((await proxy.seen(reply('exists'), 1)).path).to.equal('/a');
    proxy.clear();
    expect(proxy.frames).to.deep.equal([]);
  });

  it('leaves no timer behind after the frame has arrived', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    await client.request({ op: 'ping' }); // mocha starts its own timer when the test returns its promise
    const before = timers();
    const seen = proxy.seen(reply('exists'));
    expect(timers()).to.equal(before + 1);
    await client.request({ op: 'exists', path: '/zookeeper' });
    await seen;
    expect(timers()).to.equal(before);
  });

  it('rejects pending waits when it closes', async () => {
    const never = proxy.seen(reply('sync')).catch((error: unknown) => String(error));
    await proxy.close();
    expect(await never).to.match(/closed before it saw/);
    await client.closed;
  });
});

async function dialError(port: number): Promise<string | undefined> {
  const socket = connect(port, '127.0.0.1');
  const [error] = (await Promise.race([once(socket, 'error'), once(socket, 'connect')])) as [NodeJS.ErrnoException?];
  socket.destroy();
  return error?.code;
}

async function connectionsBelow(server: ZooKeeperServer, count: number): Promise<void> {
  while ((await server.command('cons')).trim().split('\n').length >= count);
}
