import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const entrypoint = fileURLToPath(new URL('../../lab/servers/docker/entrypoint', import.meta.url));

describe('the entrypoint of the built image', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'entrypoint-'));
    const java = join(folder, 'java');
    writeFileSync(java, '#!/bin/sh\nprintf "%s\\n" "$@"\n');
    chmodSync(java, 0o755);
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it("has the official image's defaults, apart from the admin server", () => {
    start();
    expect(configuration()).to.deep.equal([
      `dataDir=${folder}/data`,
      `dataLogDir=${folder}/log`,
      'tickTime=2000',
      'initLimit=5',
      'syncLimit=2',
      'autopurge.snapRetainCount=3',
      'autopurge.purgeInterval=0',
      'maxClientCnxns=60',
      'standaloneEnabled=true',
      'admin.enableServer=false',
      'server.1=localhost:2888:3888;2181',
      '4lw.commands.whitelist=srvr',
    ]);
    expect(text('data/myid')).to.equal('1\n');
  });

  it('takes the settings of an ensemble from the environment', () => {
    start({
      ZOO_MY_ID: '2',
      ZOO_SERVERS: 'server.1=zoo1:2888:3888;2181 server.2=zoo2:2888:3888;2181',
      ZOO_TICK_TIME: '500',
      ZOO_INIT_LIMIT: '20',
      ZOO_SYNC_LIMIT: '10',
      ZOO_MAX_CLIENT_CNXNS: '0',
    });
    expect(configuration()).to.include.members(['tickTime=500', 'initLimit=20', 'syncLimit=10', 'maxClientCnxns=0']);
    expect(configuration().filter((line) => line.startsWith('server.'))).to.deep.equal([
      'server.1=zoo1:2888:3888;2181',
      'server.2=zoo2:2888:3888;2181',
    ]);
    expect(text('data/myid')).to.equal('2\n');
  });

  it('writes each word of ZOO_CFG_EXTRA as a line, and does not expand an asterisk to file names', () => {
    start({ ZOO_CFG_EXTRA: 'maxSessionTimeout=60000 quorumListenOnAllIPs=true', ZOO_4LW_COMMANDS_WHITELIST: '*' });
    expect(configuration().slice(-3)).to.deep.equal([
      '4lw.commands.whitelist=*',
      'maxSessionTimeout=60000',
      'quorumListenOnAllIPs=true',
    ]);
  });

  it('becomes the server, with the heap and the flags of the environment', () => {
    const java = start({ ZK_SERVER_HEAP: '256', JVMFLAGS: '-XX:+UseSerialGC -Da=b' });
    expect(java[0]).to.equal('-Xmx256m');
    expect(java).to.include.members(['-XX:+UseSerialGC', '-Da=b']);
    expect(java.slice(-2)).to.deep.equal([
      'org.apache.zookeeper.server.quorum.QuorumPeerMain',
      `${folder}/conf/zoo.cfg`,
    ]);
  });

  it('keeps the configuration of a restarted container', () => {
    start({ ZOO_MY_ID: '3', ZOO_TICK_TIME: '500' });
    start({ ZOO_MY_ID: '4', ZOO_TICK_TIME: '600' });
    expect(configuration()).to.include('tickTime=500');
    expect(text('data/myid')).to.equal('3\n');
  });

  /** Returns the arguments with which java was called. */
  function start(env: Record<string, string> = {}): string[] {
    const places = {
      ZOO_CONF_DIR: join(folder, 'conf'),
      ZOO_DATA_DIR: join(folder, 'data'),
      ZOO_DATA_LOG_DIR: join(folder, 'log'),
    };
    const path = `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
    return execFileSync(entrypoint, { cwd: folder, env: { PATH: path, ...places, ...env }, encoding: 'utf8' })
      .trim()
      .split('\n');
  }

  function configuration(): string[] {
    return text('conf/zoo.cfg').trim().split('\n');
  }

  function text(name: string): string {
    return readFileSync(join(folder, name), 'utf8');
  }
});
