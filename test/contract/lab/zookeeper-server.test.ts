import { expect } from 'chai';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { ensureServerJars } from '../../../lab/servers/server-jars.ts';
import { fourLetterWord } from '../../../lab/servers/four-letter-word.ts';
import { PortTakenError } from '../../../lab/servers/free-port.ts';
import { LocalZooKeeper } from '../../../lab/servers/local-zookeeper.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { dial } from '../../../lab/wire/wire-client.ts';

describe('ZooKeeperServer', function () {
  this.timeout(60_000); // a busy machine starts a server in some seconds
  let listeners: number;

  before(async () => {
    await ensureServerJars();
    listeners = process.listenerCount('exit');
  });

  it('dies when killed, and comes back with its data on its port', async () => {
    await using server = await startRealServer();
    const { port, pid } = server;
    using client = await dial(port).opened();
    await client.request({ op: 'create', path: '/kept' });
    await server.kill();
    expect(isAlive(pid)).to.equal(false);
    expect(() => server.pid).to.throw('it is not running');
    await client.closed;
    await server.start();
    expect(server.port).to.equal(port);
    using other = await dial(port).opened();
    expect((await other.request({ op: 'exists', path: '/kept' })).error).to.equal(0);
  });

  it('answers nothing from the moment that it is paused, and continues afterwards', async () => {
    await using server = await startRealServer();
    using client = await dial(server.port).opened();
    for (let round = 0; round < 20; round++) {
      server.pause();
      const xid = client.send({ op: 'exists', path: '/' });
      const failure = await fourLetterWord('127.0.0.1', server.port, 'ruok', 20).catch((error: unknown) =>
        String(error),
      );
      expect(failure).to.match(/did not answer "ruok" within 20 ms/);
      expect(client.answers.length).to.equal(round);
      server.resume();
      expect((await client.answerTo(xid)).error).to.equal(0);
    }
    expect(await server.command('ruok')).to.equal('imok');
  });

  it('stops for good, paused or not, repeatedly, and deletes its data', async () => {
    const server = await startRealServer();
    const { pid } = server;
    const directory = await dataDirectory(server);
    expect(existsSync(directory)).to.equal(true);
    server.pause();
    await server.stop();
    await server.stop();
    expect([isAlive(pid), existsSync(directory)]).to.deep.equal([false, false]);
    expect(process.listenerCount('exit')).to.equal(listeners);
    expect(await server.start().catch((error: unknown) => String(error))).to.match(/was stopped/);
  });

  it('cannot be started twice', async () => {
    await using server = await startRealServer();
    expect(await server.start().catch((error: unknown) => String(error))).to.match(/is running already/);
  });

  it('has the given tick, allows sessions of 30 s, and accepts lines of configuration', async () => {
    await using server = await startRealServer({ tickTimeMs: 200, config: { minSessionTimeout: 300 } });
    const configuration = await server.command('conf');
    expect(configuration).to.include('tickTime=200\n').and.include('minSessionTimeout=300\n');
    using client = await dial(server.port, 30_000).opened();
    expect(client.timeoutMs).to.equal(30_000);
  });

  it('reaps empty containers at the given interval', async () => {
    await using server = await startRealServer({ containerCheckMs: 10 });
    using client = await dial(server.port).opened();
    await client.request({ op: 'createContainer', path: '/container' });
    await client.request({ op: 'create', path: '/container/child' });
    await client.request({ op: 'delete', path: '/container/child' });
    while ((await client.request({ op: 'exists', path: '/container' })).error === 0);
  });

  it('reports the end of its log when it cannot start', async () => {
    const failure = await startRealServer({ config: { tickTime: 'soon' } }).catch((error: unknown) => String(error));
    expect(failure)
      .to.match(/ended while starting \(exit code 2\)/)
      .and.match(/NumberFormatException: For input string: "soon"/);
  });

  it('says so if its port was taken meanwhile', async () => {
    await using other = await startSilentServer();
    await using server = new LocalZooKeeper({ main: 'standalone', port: other.port }, {});
    expect(await server.start().catch((error: unknown) => error)).to.be.instanceOf(PortTakenError);
  });

  it('does not mistake another server on its port for itself', async () => {
    await using other = await startRealServer();
    await using server = new LocalZooKeeper({ main: 'standalone', port: other.port }, {});
    expect(await server.start().catch((error: unknown) => error)).to.be.instanceOf(PortTakenError);
  });

  if (process.platform === 'linux')
    it('dies with the test process, even if that is killed', async () => {
      const { port } = await startedBy(`process.kill(process.pid, 'SIGKILL')`);
      while (!(await refuses(port)));
    });

  for (const [how, code] of Object.entries({
    crashes: `throw new Error('expected')`,
    'receives SIGTERM': `process.kill(process.pid, 'SIGTERM')`,
    'exits while the server is paused': `server.pause(); process.exit()`,
  }))
    it(`leaves nothing behind when the test process ${how}`, async () => {
      const { port, directory } = await startedBy(code);
      while (!(await refuses(port)));
      expect(existsSync(directory)).to.equal(false);
    });
});

interface Started {
  readonly port: number;
  readonly directory: string;
}

async function startedBy(code: string): Promise<Started> {
  const program = `
    import { startRealServer } from ${JSON.stringify(new URL('../../../lab/servers/zookeeper-server.ts', import.meta.url).href)};
    const server = await startRealServer();
    const directory = /^dataDir=(.*)\\/version-2$/m.exec(await server.command('conf'))[1];
    console.log(JSON.stringify({ port: server.port, directory }));
    ${code}`;
  const child = spawn(process.execPath, ['--import=tsx', '--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  await once(child, 'close');
  return JSON.parse(output) as Started;
}

async function dataDirectory(server: ZooKeeperServer): Promise<string> {
  return /^dataDir=(.*)\/version-2$/m.exec(await server.command('conf'))?.[1] ?? '';
}

/** Asks the port and not the process, because an orphan stays a zombie until process 1 reaps it. */
async function refuses(port: number): Promise<boolean> {
  const failure = await fourLetterWord('127.0.0.1', port, 'ruok', 200).catch((error: unknown) => String(error));
  return failure.includes('ECONNREFUSED');
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
