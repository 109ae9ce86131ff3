import { expect } from 'chai';
import { fourLetterWord } from '../../../lab/servers/four-letter-word.ts';
import { chosenVersion } from '../../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { needs } from '../../../lab/skip-without.ts';
import { rejection } from '../../../lab/until.ts';
import { account, digest } from '../../../lab/wire/account.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { createSequential, getChildren, openAcl, setData } from '../../../src/zookeeper/wire/operations.ts';
import { probeOf } from '../probe.ts';

const tickTimeMs = 500;
const juteMaxBufferBytes = 20_000;
const alice = digest('alice:open sesame');

/** The settings that docs/versions.md lists and the other tests of a real server do not have. */
for (const [name, start] of [
  [
    `ZooKeeper ${chosenVersion().version}`,
    () =>
      startRealServer({
        tickTimeMs,
        // The laboratory sets the longest timeout and all words. -1 stands for ZooKeeper's default.
        config: { minSessionTimeout: -1, maxSessionTimeout: -1, '4lw.commands.whitelist': 'conf' },
        javaOptions: [`-Djute.maxbuffer=${juteMaxBufferBytes}`],
      }),
  ],
  ['an embedded server', () => EmbeddedZooKeeper.start({ tickTimeMs, juteMaxBufferBytes, fourLetterWords: ['ruok'] })],
] as const)
  describe(`the settings of ${name}`, () => {
    const lab = probeOf<ZooKeeperServer | EmbeddedZooKeeper>(start);
    const { ask, codeOf } = lab;

    it('allow sessions of 2 to 20 ticks by default', async () => {
      const probes = [1, 3_600_000].map((sessionTimeoutMs) => lab.connect({ sessionTimeoutMs }));
      const granted = (await Promise.all(probes)).map(({ connection }) => connection.timeoutMs);
      expect(granted).to.deep.equal([2 * tickTimeMs, 20 * tickTimeMs]);
    });

    it('cannot forbid srvr, which is answered although the whitelist lacks it', async () => {
      const ask = (word: string): Promise<string> => fourLetterWord('127.0.0.1', lab.server.port, word);
      expect(await ask('srvr')).to.match(/^Mode: standalone$/m);
      expect(await ask('mntr')).to.contain('not in the whitelist');
    });

    it('limit requests by jute.maxbuffer, but not answers: a longer queue is read', async () => {
      const member = `${lab.path}/_c_00000000-0000-4000-8000-000000000000-lock-`;
      await Promise.all(Array.from({ length: 400 }, () => ask(createSequential(member, new Uint8Array(0), openAcl))));
      expect((await ask(getChildren(lab.path))).join('').length).to.be.above(juteMaxBufferBytes);
      await using client = await LockClient.connect(lab.server.connectString);
      expect(await new InterProcessMutex(client, lab.path).participants()).to.have.length(400);
      expect(await codeOf(setData(lab.path, Buffer.alloc(juteMaxBufferBytes)))).to.equal('CONNECTION_LOSS');
    });

    it('refuse a lock whose data are too long by jute.maxbuffer, and serve the others of the client meanwhile', async () => {
      await using client = await LockClient.connect(lab.server.connectString);
      const hold = await client.lock(`${lab.path}/held`);
      const refusing = rejection(client.lock(`${lab.path}/long`, { data: new Uint8Array(juteMaxBufferBytes) }));
      for (let turn = 0; turn < 20; turn += 1) await client.withLock(`${lab.path}/short`, () => undefined);
      expect((await refusing).message).to.match(/the request create2 with 20\d{3} bytes\. .*jute\.maxbuffer/);
      await client.withLock(`${lab.path}/short`, () => undefined, { timeoutMs: 1_000 });
      expect(await hold.release()).to.equal('released');
    });

    it('allow no time to live by default: the transaction says what to set, and the lock stays held', async () => {
      await using client = await LockClient.connect(lab.server.connectString);
      const hold = await new InterProcessMutex(client, `${lab.path}/lock`).acquire();
      const note = `${lab.path}/note`;
      const short = hold.transaction().create(note, undefined, { mode: 'persistent-with-ttl', ttlMs: 1_000 });
      expect((await rejection(short.commit())).message).to.contain('-Dzookeeper.extendedTypesEnabled=true');
      await hold.transaction().create(note).commit();
      expect(await hold.release()).to.equal('released');
    });
  });

describe('a real server with enforce.auth.schemes and enforceQuota', () => {
  let server: ZooKeeperServer;
  before(async function () {
    needs(this, 'enforceQuota');
    server = await startRealServer({
      config: { 'enforce.auth.enabled': 'true', 'enforce.auth.schemes': 'digest', enforceQuota: 'true' },
    });
  });
  after(() => (server as ZooKeeperServer | undefined)?.stop());

  it('tells a client without an account what to give, as an embedded one does, and serves one with an account', async () => {
    await using zk = await EmbeddedZooKeeper.start({ enforceAuthSchemes: ['digest'] });
    for (const { connectString } of [server, zk]) {
      const error = await rejection(LockClient.connect(connectString));
      expect(error.message).to.contain(connectString).and.contain('enforce.auth.schemes');
      await using client = await LockClient.connect(connectString, { auth: [alice] });
      expect(await (await new InterProcessMutex(client, '/locks/a').acquire()).release()).to.equal('released');
    }
  });

  it('refuses a lock that is beyond the quota, and serves it once there is room', async () => {
    await using admin = await account(server.connectString, { auth: [alice] });
    await admin.create('/few');
    for (const path of ['/zookeeper/quota/few', '/zookeeper/quota/few/zookeeper_limits']) await admin.create(path);
    await admin.write('/zookeeper/quota/few/zookeeper_limits', 'countHardLimit=3');
    await admin.create('/zookeeper/quota/few/zookeeper_stats');
    const hold = await new InterProcessMutex(admin.client, '/few/a').acquire();
    const other = new InterProcessMutex(admin.client, '/few/b');
    expect((await rejection(other.acquire())).message).to.contain('QUOTA_EXCEEDED');
    await hold.release();
    await admin.remove('/few/a');
    expect(await (await other.acquire()).release()).to.equal('released');
  });
});

describe('a real server that has all connections that maxClientCnxns allows', () => {
  it('refuses the next client, whose error names the server, and keeps the others', async () => {
    await using server = await startRealServer({ config: { maxClientCnxns: 2 } });
    const { connectString } = server;
    await using client = await LockClient.connect(connectString);
    const hold = await new InterProcessMutex(client, '/locks/a').acquire();
    await using second = await LockClient.connect(connectString);
    const error = await rejection(LockClient.connect(connectString, { connectionTimeoutMs: 2_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.contain(`${connectString} closed the connection`).and.contain('maxClientCnxns');
    expect([client.state, hold.isValid, second.state]).to.deep.equal(['connected', true, 'connected']);
  });
});
