import { execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as delay } from 'node:timers/promises';
import { flockAptGet } from '../../../../lab/servers/apt-get.ts';
import { isCommand } from '../../../../lab/servers/debian-zookeeper.ts';
import { AdviceError } from '../../../../lab/servers/docker/advice.ts';
import { freePorts } from '../../../../lab/servers/free-port.ts';
import { whenProcessEnds } from '../../../../lab/servers/process-end.ts';

/** A server of a store in a process of its own, on 127.0.0.1, with its data in a temporary folder. */
export interface StoreServer extends AsyncDisposable {
  readonly port: number;
}

/** PostgreSQL and MariaDB refuse to run as root. */
const nobody = 65_534;
const isRoot = process.getuid?.() === 0;
const user = isRoot ? { uid: nobody, gid: nobody } : {};

/** Throws an AdviceError if PostgreSQL cannot run here. */
export async function startPostgres(): Promise<StoreServer> {
  const versions = '/usr/lib/postgresql';
  await ensure('postgresql', () => existsSync(versions));
  const [newest = ''] = readdirSync(versions).sort((a, b) => Number(b) - Number(a));
  const bin = join(versions, newest, 'bin');
  return start(
    'SIGQUIT',
    async (folder, port) => {
      const initdb = ['-D', folder, '-U', 'guards', '--auth=trust', '--no-sync', '-E', 'UTF8', '--no-locale'];
      await promisify(execFile)(join(bin, 'initdb'), initdb, {
        ...user,
        cwd: folder,
        env: { ...process.env, TMPDIR: folder },
      });
      const settings = {
        listen_addresses: '127.0.0.1',
        unix_socket_directories: '',
        fsync: 'off',
        max_connections: '50',
      };
      const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      return [join(bin, 'postgres'), '-D', folder, '-p', String(port), ...options];
    },
    'ready to accept connections',
  );
}

/** Throws an AdviceError if MariaDB cannot run here. */
export async function startMariaDb(): Promise<StoreServer> {
  await ensure('mariadb-server', () => isCommand('mariadb-install-db'));
  return start('SIGKILL', async (folder, port) => {
    const install = [
      '--no-defaults',
      `--datadir=${folder}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
    ];
    await promisify(execFile)('mariadb-install-db', install, {
      ...user,
      cwd: folder,
      env: { ...process.env, TMPDIR: folder },
    });
    const server = existsSync('/usr/sbin/mariadbd') ? '/usr/sbin/mariadbd' : 'mariadbd';
    const network = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(folder, 'socket')}`];
    return [server, '--no-defaults', `--datadir=${folder}`, ...network, '--innodb-buffer-pool-size=32M'];
  });
}

/** Throws an AdviceError if Redis cannot run here. */
export async function startRedisServer(): Promise<StoreServer> {
  await ensure('redis-server', () => isCommand('redis-server'));
  return start('SIGKILL', (folder, port) =>
    Promise.resolve(['redis-server', '--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']),
  );
}

/** Installs a package of Debian if it is missing, without a start of its service. */
async function ensure(name: string, isThere: () => boolean): Promise<void> {
  if (isThere()) return;
  const advice = new AdviceError(`${name} is missing: apt-get install ${name}`);
  if (!isRoot || !isCommand('apt-get')) throw advice;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  for (const args of flockAptGet(['--no-install-recommends', name]))
    await promisify(execFile)('flock', args, { env }).catch(() => {
      throw advice;
    });
}

/** @param ready what the log says when the store serves: PostgreSQL accepts connections, and refuses them, before that */
async function start(
  signal: 'SIGQUIT' | 'SIGKILL',
  prepare: (folder: string, port: number) => Promise<string[]>,
  ready = '',
): Promise<StoreServer> {
  // The folder that TMPDIR names may be closed to other users.
  const folder = mkdtempSync(join(isRoot ? '/tmp' : tmpdir(), 'guards-'));
  const forgetFolder = whenProcessEnds(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o700);
  if (isRoot) chownSync(folder, nobody, nobody);
  const [port = 0] = await freePorts(1);
  const [command = '', ...args] = await prepare(folder, port);
  const log = join(folder, 'log-of-test');
  const server = spawn(command, args, {
    ...user,
    cwd: folder,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', openSync(log, 'a'), openSync(log, 'a')],
  });
  const forgetServer = whenProcessEnds(() => server.kill('SIGKILL'));
  const ended = once(server, 'exit');
  const stop = async (): Promise<void> => {
    server.kill(signal);
    await ended;
    forgetServer();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    forgetFolder();
  };
  const serves = async (): Promise<boolean> => (await accepts(port)) && readFileSync(log, 'utf8').includes(ready);
  for (const giveUpAt = Date.now() + 30_000; !(await serves()); await delay(50)) {
    if (server.exitCode === null && Date.now() < giveUpAt) continue;
    const said = readFileSync(log, 'utf8').slice(-2_000);
    await stop();
    throw new Error(`${command} does not serve:\n${said}`);
  }
  return { port, [Symbol.asyncDispose]: stop };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const settle = (does: boolean): void => {
      socket.destroy();
      resolve(does);
    };
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  });
}
