import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isCommand } from '../servers/debian-zookeeper.ts';
import { onFreshPorts, PortTakenError } from '../servers/free-port.ts';
import { whenProcessEnds } from '../servers/process-end.ts';
import { ServerProcess } from '../servers/server-process.ts';

/** A Redis server in a process of its own, on 127.0.0.1. */
export interface RedisServer extends AsyncDisposable {
  readonly port: number;
}

/** When Redis flushes its log to the disk: before each answer, or once a second. */
export type AppendFsync = 'always' | 'everysec';

const startLimitMs = 10_000;
const pollMs = 25;

/** The name of the missing part if Redis cannot run here. */
export function missingRedis(): string | undefined {
  return isCommand('redis-server') ? undefined : 'redis-server (apt-get install redis-server)';
}

/** Starts a Redis server that writes each change to an append-only file, and resolves when the server serves. */
export async function startRedis(appendFsync: AppendFsync): Promise<RedisServer> {
  return onFreshPorts(1, async ([port = 0]) => {
    const directory = mkdtempSync(join(tmpdir(), 'redis-'));
    const removeData = (): void => rmSync(directory, { recursive: true, force: true });
    const forget = whenProcessEnds(removeData);
    const process = await ServerProcess.spawn(directory, commandLine(port, directory, appendFsync));
    const stop = async (): Promise<void> => {
      await process.kill();
      removeData();
      forget();
    };
    try {
      await serving(port, process);
    } catch (error) {
      await stop();
      throw error;
    }
    return { port, [Symbol.asyncDispose]: stop };
  });
}

function commandLine(port: number, directory: string, appendFsync: AppendFsync): string[] {
  const options = { port, bind: '127.0.0.1', dir: directory, appendonly: 'yes', appendfsync: appendFsync };
  return ['redis-server', ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])];
}

async function serving(port: number, process: ServerProcess): Promise<void> {
  const deadline = performance.now() + startLimitMs;
  while (performance.now() < deadline) {
    const serves = await Promise.race([answersPing(port), process.ended]);
    if (process.hasEnded) throw await startFailure(port, process);
    if (serves === true) return;
    await delay(pollMs);
  }
  throw new Error(`Redis at port ${port} did not serve within ${startLimitMs} ms:\n${process.logTail()}`);
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('data', (answer) => {
      socket.destroy();
      resolve(answer.toString().startsWith('+PONG'));
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}

async function startFailure(port: number, process: ServerProcess): Promise<Error> {
  const log = process.logTail();
  const message = `Redis at port ${port} ended while starting (${await process.ended}):\n${log}`;
  return /Address already in use/.test(log) ? new PortTakenError(message) : new Error(message);
}
