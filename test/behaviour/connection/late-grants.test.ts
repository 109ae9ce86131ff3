import { expect } from 'chai';
import { once } from 'node:events';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { rejection, until } from '../../../lab/until.ts';
import { sleep } from '../../../lab/world.ts';
import { ConnectionTimeoutError, LockClient } from '../../../src/index.ts';

/** Longer than a test: a session that is gone was closed and did not expire. */
const sessionTimeoutMs = 20_000;

describe('a session that a server grants after the client has given it up', () => {
  const lab = labOfEachTest('late-grants', { server: 'own', proxy: true, client: 'none' });
  let before: number;

  /** The number of sessions on the server: its tracker prints each on its own line. */
  const sessions = async (): Promise<number> => {
    const [tracked = ''] = (await lab.server.command('dump')).split(/^ephemeral nodes/m);
    return tracked.split('\n').filter((line) => /^0x[0-9a-f]+$/.test(line.trim())).length;
  };
  const grants = (): number => lab.proxy.frames.filter(({ from, op }) => from === 'server' && op === 'connect').length;
  const delayConnects = (delayMs: number): (() => void) =>
    lab.proxy.on(({ from, op }) =>
      from === 'client' && op === 'connect' ? { delayUntil: sleep(delayMs) } : undefined,
    );
  const areClosed = (): Promise<void> =>
    until('the granted sessions are closed', async () => (await sessions()) === before, 1_000);

  beforeEach(async () => {
    await until('the observer has its session', async () => (await sessions()) > 0);
    before = await sessions();
  });

  it('is closed, after connect() has timed out', async () => {
    delayConnects(600);
    const connectionTimeoutMs = 400;
    const startedAt = lab.now();
    const error = await rejection(
      LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs, connectionTimeoutMs }),
    );
    expect(error).to.be.instanceOf(ConnectionTimeoutError);
    expect(lab.now() - startedAt, 'the background does not delay it').to.be.below(connectionTimeoutMs + 150);
    await until('both attempts are granted', () => grants() === 2, 2_000);
    await areClosed();
  });

  it('is closed, after the signal of connect() has aborted at any moment', async () => {
    delayConnects(20);
    for (let afterMs = 0; afterMs <= 30; afterMs += 1) {
      const aborter = new AbortController();
      const { signal } = aborter;
      const connecting = LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs, signal });
      void sleep(afterMs).then(() => aborter.abort());
      await connecting.then(
        (client) => client.close(),
        () => undefined,
      );
    }
    await areClosed();
    expect(grants()).to.be.above(20);
  });

  it('is closed, after a client of LockClient.create() was closed at any moment', async () => {
    delayConnects(20);
    for (let afterMs = 0; afterMs <= 30; afterMs += 1) {
      const client = LockClient.create(lab.proxy.connectString, { sessionTimeoutMs });
      await sleep(afterMs);
      await client.close();
    }
    await areClosed();
    expect(grants()).to.be.above(20);
  });

  it('is closed, after the time of an attempt, while the next attempt connects', async () => {
    const stop = delayConnects(1_000);
    const connecting = LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs });
    await until('the first request is on its way', () => lab.proxy.frames.some(({ op }) => op === 'connect'));
    stop();
    await using client = await connecting;
    await until('both are granted', () => grants() === 2, 2_000);
    await until('one session is left', async () => (await sessions()) === before + 1, 1_000);
    expect(client.state).to.equal('connected');
  });

  it('is closed, if it was granted in time, but its first write was not answered', async () => {
    lab.proxy.on(({ from, op }) =>
      from === 'server' && op !== 'connect' && op !== 'closeSession' ? 'drop' : undefined,
    );
    const error = await rejection(
      LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs, connectionTimeoutMs: 200 }),
    );
    expect(error).to.be.instanceOf(ConnectionTimeoutError);
    expect(grants()).to.equal(1);
    await areClosed();
  });

  it('keeps its connection for two seconds at most', async () => {
    await using silent = await startSilentServer();
    const connecting = rejection(LockClient.connect(silent.connectString, { connectionTimeoutMs: 240 }));
    const closed = once(await silent.connected(), 'close');
    await connecting;
    const givenUpAt = lab.now();
    await closed;
    expect(lab.now() - givenUpAt).to.be.within(1_900, 2_100);
  });
});
