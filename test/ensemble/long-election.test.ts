import { expect } from 'chai';
import { InterProcessMutex, LockClient, type BackgroundEvent } from '../../src/index.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, until } from '../../lab/until.ts';
import { startProxy, type Frame } from '../../lab/proxy/zk-proxy.ts';
import { useTrio } from '../../lab/servers/trio.ts';

/** As long as a client may need to find the new leader, on a busy machine that is starting two servers. */
const sessionTimeoutMs = 8_000;

describe('an election that lasts longer than the session timeout', function () {
  this.timeout(90_000);
  const used = useTrio();

  it('costs a waiter neither its session nor its place: the new leader gives each session its full timeout again', async () => {
    const [leader, ...followers] = await used.trio.whole();
    const proxies = await Promise.all(used.trio.servers.map((server) => startProxy(server.port)));
    const connectString = proxies.map((proxy) => proxy.connectString).join(',');
    await using holder = await LockClient.connect(used.trio.connectString, { sessionTimeoutMs });
    await using client = await LockClient.connect(connectString, { sessionTimeoutMs });
    try {
      const path = testPath('election');
      const queue = new InterProcessMutex(holder, path);
      const held = await queue.acquire();
      const waiting = new InterProcessMutex(client, path).acquire();
      await until('it waits', async () => (await queue.participants()).length === 2);
      const place = (await queue.participants())[1]?.path;
      const { id } = client.session;
      const events: BackgroundEvent[] = [];
      client.on('background', (event) => events.push(event));

      // The remaining server accepts connections, and closes them without a reply.
      proxies.forEach((proxy) => proxy.clear());
      await Promise.all([leader, followers[0]].map((server) => server.kill()));
      await aborted(held.signal);
      await held.release();
      const isProbe = ({ from, op, body }: Frame): boolean =>
        from === 'client' && op === 'connect' && body.readBigInt64BE(16) === 0n;
      const probes = (): number => proxies.reduce((sum, { frames }) => sum + frames.filter(isProbe).length, 0);
      await until('it asks for a new session beside the old one', () => probes() >= 3, 30_000);
      await Promise.all([leader, followers[0]].map((server) => server.start()));

      const hold = await waiting;
      expect(hold.path).to.equal(place);
      expect(client.session.id).to.equal(id);
      expect(events.filter(({ type }) => type === 'session-ended')).to.deep.equal([]);
      await hold.release();
    } finally {
      await client.close({ timeoutMs: 1_000 });
      await Promise.all(proxies.map((proxy) => proxy.close()));
    }
  });
});
