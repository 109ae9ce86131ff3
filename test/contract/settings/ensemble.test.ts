import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { startEnsemble, type Ensemble, type ServerOptions } from '../../../lab/servers/zookeeper-server.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { check, levelOf } from '../../behaviour/operator/zklock-check.ts';

const sessionTimeoutMs = 4_000;

describe('a real ensemble', function () {
  this.timeout(120_000);
  let ensemble: Ensemble;

  const start = async (size: number, options: ServerOptions): Promise<LockClient> => {
    ensemble = await startEnsemble(size, options);
    return LockClient.connect(ensemble.connectString, { sessionTimeoutMs });
  };
  afterEach(() => ensemble.stop());

  it('with readonlymode.enabled serves no locks without a majority: the holder is told, and check says so', async () => {
    await using client = await start(2, { javaOptions: ['-Dreadonlymode.enabled=true'] });
    const [last, other] = ensemble.servers;
    if (!last || !other) throw new Error('The ensemble has two members');
    const mutex = new InterProcessMutex(client, '/locks/a');
    const hold = await mutex.acquire();
    await other.kill();
    await until('the member is read-only', async () => (await last.command('isro')) === 'ro', 30_000);
    expect(await last.command('srvr')).to.match(/^Mode: read-only$/m);
    await aborted(hold.signal);
    const error = await rejection(LockClient.connect(last.connectString, { connectionTimeoutMs: 2_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    const checked = await check(last.connectString, '--connect-timeout', '2');
    for (const subject of [`server ${last.connectString}`, 'connection'])
      expect(levelOf(checked, subject)).to.equal('fail');
    await other.start();
    await (await mutex.acquire()).release();
  });

  const config = { standaloneEnabled: 'false', localSessionsEnabled: 'true' };

  it('with local sessions refuses each lock, and the error names the setting', async () => {
    await using client = await start(1, { config });
    const error = await rejection(new InterProcessMutex(client, '/locks/a').acquire());
    expect(error.message).to.contain('EPHEMERAL_ON_LOCAL_SESSION').and.contain('localSessionsUpgradingEnabled=true');
  });

  it('whose local sessions may be upgraded serves locks, which outlive a session timeout', async () => {
    await using client = await start(1, { config: { ...config, localSessionsUpgradingEnabled: 'true' } });
    const hold = await new InterProcessMutex(client, '/locks/a').acquire();
    await delay(1.5 * sessionTimeoutMs);
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
  });
});
