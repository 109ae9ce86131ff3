import { expect } from 'chai';
import { InterProcessMutex, LockClient, type BackgroundEvent } from '../../src/index.ts';
import { sessionName } from '../../src/client/session.ts';
import { stranger, type Stranger } from '../support/stranger.ts';
import { testPath } from '../support/test-path.ts';
import { aborted, until } from '../support/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../support/zk-proxy.ts';
import { startServer, type ZooKeeperServer } from '../support/zookeeper-server.ts';

const from = (side: Frame['from'], op: Frame['op']) => (frame: Frame): boolean => frame.from === side && frame.op === op;

describe('what happens in the background', () => {
  let server: ZooKeeperServer;
  let proxy: ZkProxy;
  let client: LockClient;
  let outside: Stranger;
  let events: BackgroundEvent[];

  before(async () => {
    server = await startServer();
    outside = await stranger(server.connectString);
  });

  beforeEach(async () => {
    proxy = await startProxy(server.port);
    client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 2_000 });
    events = [];
    client.on('background', (event) => void events.push(event));
  });

  afterEach(async () => {
    await client.close();
    await proxy.close();
  });

  after(async () => {
    await outside[Symbol.asyncDispose]();
    await server.stop();
  });

  const told = (type: BackgroundEvent['type']): Promise<void> => until(`${type} is told`, () => events.some((event) => event.type === type));
  const types = (): string[] => events.map(({ type }) => type);

  it('is told of a reconnect: why, and to which server', async () => {
    const sessionId = sessionName(client.session.id);
    proxy.cut();
    await told('connected');
    const [disconnected, connected] = events;
    expect(disconnected).to.deep.include({ type: 'disconnected', sessionId });
    expect((disconnected as { error: Error }).error).to.be.instanceOf(Error);
    expect(connected).to.deep.equal({ type: 'connected', sessionId, server: proxy.connectString });
    expect(events).to.have.length(2);
  });

  for (const side of ['client', 'server'] as const) {
    it(`is told of the search for a create that lost its ${side === 'client' ? 'way' : 'answer'}`, async () => {
      const mutex = new InterProcessMutex(client, testPath('searched'));
      await (await mutex.acquire()).release();
      const stop = proxy.on((frame) => {
        if (!from(side, 'create2')(frame)) return undefined;
        stop();
        return 'cut';
      });
      await (await mutex.acquire()).release();
      const searched = events.filter((event) => event.type === 'create-searched');
      expect(searched.map(({ found }) => found)).to.deep.equal([side === 'server']);
      expect(searched[0]?.path).to.match(new RegExp(`^${mutex.path}/_c_[0-9a-f-]{36}-lock-$`));
    });
  }

  it('is told of a delete that is tried again, and warned of as the logger is', async () => {
    const mutex = new InterProcessMutex(client, testPath('again'));
    const hold = await mutex.acquire();
    // The news of the own znode's deletion would come before the answer.
    proxy.on((frame) => (from('server', 'watch')(frame) ? 'drop' : undefined));
    const stop = proxy.on((frame) => {
      if (!from('server', 'delete')(frame)) return undefined;
      stop();
      return { replaceError: -5 };
    });
    await hold.release();
    expect(types()).to.deep.equal(['delete-retried', 'warning']);
    expect(events[0]).to.have.property('path', hold.path);
    expect(events[1]).to.have.property('message').that.includes('could not be deleted; trying again');
  });

  it('is told of a session that the server has ended, and of the next one', async () => {
    const before = sessionName(client.session.id);
    await proxy.refuse();
    await outside.endSession(client);
    proxy.cut();
    await proxy.accept();
    await told('connected');
    expect(types()).to.deep.equal(['disconnected', 'session-ended', 'connected']);
    expect(events[1]).to.deep.equal({ type: 'session-ended', sessionId: before, why: 'expired' });
    expect(events[2]).to.have.property('sessionId').that.does.not.equal(before);
  });

  it('is told of a session that was lost, and of its end at the servers when its job has let go', async () => {
    const hold = await new InterProcessMutex(client, testPath('ghost')).acquire();
    const sessionId = sessionName(client.session.id);
    const stop = proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    await aborted(hold.signal);
    expect(events.at(-1)).to.deep.equal({ type: 'session-ended', sessionId, why: 'lost' });
    stop();
    proxy.cut();
    await hold.release();
    await told('lost-session-closed');
    expect(events.filter(({ type }) => type === 'lost-session-closed')).to.deep.equal([{ type: 'lost-session-closed', sessionId }]);
  });

  it('has no other names, and no listeners that cannot be called', () => {
    const on = client.on.bind(client) as (event: string, listener: unknown) => unknown;
    expect(() => on('sate', () => undefined)).to.throw(TypeError, "Expected `event` to be");
    expect(() => on('state', undefined)).to.throw(TypeError, 'Expected `listener` to be a function, got undefined');
  });
});
