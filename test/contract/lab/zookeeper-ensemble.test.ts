import { expect } from 'chai';
import { fourLetterWord } from '../../../lab/servers/four-letter-word.ts';
import { startEnsemble } from '../../../lab/servers/zookeeper-server.ts';
import { dial } from '../../../lab/wire/wire-client.ts';

/** The time that a busy machine may need to start three servers, and to elect a leader twice. */
const limitMs = 90_000;

describe('Ensemble', function () {
  this.timeout(limitMs);

  it('elects another leader when its leader is killed, and accepts the killed one back', async () => {
    await using ensemble = await startEnsemble();
    expect(ensemble.connectString).to.equal(ensemble.servers.map(({ port }) => `127.0.0.1:${port}`).join(','));
    const first = await ensemble.leader();
    using client = await dial(first.port).opened();
    await client.request({ op: 'create', path: '/kept' });
    await first.kill();
    const second = await ensemble.leader();
    expect(second).not.to.equal(first);
    await first.start();
    expect(await first.command('srvr')).to.include('Mode: follower');
    using other = await dial(first.port).opened();
    expect((await other.request({ op: 'exists', path: '/kept' })).error).to.equal(0);
  });

  it('serves on every member from the start, and on none after it is stopped', async () => {
    const ensemble = await startEnsemble(3, { tickTimeMs: 200 });
    const modes = await Promise.all(
      ensemble.servers.map(async (server) => /Mode: \w+/.exec(await server.command('srvr'))?.[0]),
    );
    await ensemble.stop();
    await ensemble.stop();
    expect(modes.sort()).to.deep.equal(['Mode: follower', 'Mode: follower', 'Mode: leader']);
    for (const { port } of ensemble.servers) {
      expect(await fourLetterWord('127.0.0.1', port, 'ruok').catch((error: unknown) => String(error))).to.match(
        /ECONNREFUSED/,
      );
    }
  });
});
