import { expect } from 'chai';
import { InterProcessMutex, type BackgroundEvent } from '../../src/index.ts';
import { sessionName } from '../../src/zookeeper/wire/wire-session.ts';
import { from } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, until } from '../../lab/until.ts';

describe('a background event', () => {
  const lab = labOfEachTest('background', { server: 'own', proxy: true, client: { sessionTimeoutMs: 2_000 } });
  let events: BackgroundEvent[];

  beforeEach(() => {
    events = [];
    lab.client.on('background', (event) => void events.push(event));
  });

  const emitted = (type: BackgroundEvent['type']): Promise<void> =>
    until(`${type} is emitted`, () => events.some((event) => event.type === type));
  const types = (): string[] => events.map(({ type }) => type);

  it('reports a reconnect, with its cause and its server', async () => {
    const sessionId = sessionName(lab.client.session.id);
    lab.proxy.cut();
    await emitted('connected');
    const [disconnected, connected] = events;
    expect(disconnected).to.deep.include({ type: 'disconnected', sessionId });
    expect((disconnected as { error: Error }).error).to.be.instanceOf(Error);
    expect(connected).to.deep.equal({ type: 'connected', sessionId, server: lab.proxy.connectString });
    expect(events).to.have.length(2);
  });

  for (const side of ['client', 'server'] as const)
    it(`reports the search for a create whose ${side === 'client' ? 'request' : 'reply'} was lost`, async () => {
      const mutex = new InterProcessMutex(lab.client, testPath('searched'));
      await (await mutex.acquire()).release();
      const stop = lab.proxy.on((frame) => {
        if (!from(side, 'create2')(frame)) return undefined;
        stop();
        return 'cut';
      });
      await (await mutex.acquire()).release();
      const searched = events.filter((event) => event.type === 'create-searched');
      expect(searched.map(({ found }) => found)).to.deep.equal([side === 'server']);
      expect(searched[0]?.path).to.match(new RegExp(`^${mutex.path}/_c_[0-9a-f-]{36}-lock-$`));
    });

  it('reports a delete that is tried again, with the warning that the logger gets', async () => {
    const mutex = new InterProcessMutex(lab.client, testPath('again'));
    const hold = await mutex.acquire();
    // The watch event of the client's own znode would arrive before the reply.
    lab.proxy.on((frame) => (from('server', 'watch')(frame) ? 'drop' : undefined));
    const stop = lab.proxy.on((frame) => {
      if (!from('server', 'delete')(frame)) return undefined;
      stop();
      return { replaceError: -5 };
    });
    await hold.release();
    expect(types()).to.deep.equal(['delete-retried', 'warning']);
    expect(events[0]).to.have.property('path', hold.path);
    expect(events[1]).to.have.property('message').that.includes('could not be deleted; trying again');
  });

  it('reports a session that the server has ended, and the next session', async () => {
    const before = sessionName(lab.client.session.id);
    await lab.proxy.refuse();
    await lab.observer.endSession(lab.client);
    lab.proxy.cut();
    await lab.proxy.accept();
    await emitted('connected');
    expect(types()).to.deep.equal(['disconnected', 'session-ended', 'connected']);
    expect(events[1]).to.deep.equal({ type: 'session-ended', sessionId: before, why: 'expired' });
    expect(events[2]).to.have.property('sessionId').that.does.not.equal(before);
  });

  it('reports a lost session, and its end on the servers after its job has released', async () => {
    const hold = await new InterProcessMutex(lab.client, testPath('ghost')).acquire();
    const sessionId = sessionName(lab.client.session.id);
    const stop = lab.proxy.on((frame) => (frame.from === 'server' ? 'drop' : undefined));
    await aborted(hold.signal);
    expect(events.at(-1)).to.deep.equal({ type: 'session-ended', sessionId, why: 'lost' });
    stop();
    lab.proxy.cut();
    await hold.release();
    await emitted('lost-session-closed');
    expect(events.filter(({ type }) => type === 'lost-session-closed')).to.deep.equal([
      { type: 'lost-session-closed', sessionId },
    ]);
  });

  it('has no other names, and no listeners that are not functions', () => {
    const on = lab.client.on.bind(lab.client) as (event: string, listener: unknown) => unknown;
    expect(() => on('sate', () => undefined)).to.throw(TypeError, 'Expected `event` to be');
    expect(() => on('state', undefined)).to.throw(TypeError, 'Expected `listener` to be a function, got undefined');
  });
});
