import { request, type RequestOptions } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { serverMode } from './four-letter-word.ts';

export interface ContainerZooKeeper {
  readonly connectString: string;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;

/** Whether a Docker engine answers, and has the image. Quick and silent: most machines have neither. */
export function dockerHasImage(image: string, limitMs = 3_000): Promise<boolean> {
  return new Promise((resolve) => {
    const ask = request({ ...engine(), path: `/images/${image}/json`, signal: AbortSignal.timeout(limitMs) }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    ask.once('error', () => resolve(false));
    ask.end();
  });
}

export async function startContainer(image: string): Promise<ContainerZooKeeper> {
  prepareEnvironment();
  const { GenericContainer } = await import('testcontainers');
  const container = await new GenericContainer(image)
    .withEnvironment({
      ZOO_TICK_TIME: '500',
      ZOO_MAX_CLIENT_CNXNS: '0',
      ZOO_4LW_COMMANDS_WHITELIST: '*',
      ZOO_ADMINSERVER_ENABLED: 'false',
      ZOO_CFG_EXTRA: 'maxSessionTimeout=60000',
    })
    .withExposedPorts(2181)
    .withStartupTimeout(startLimitMs)
    .start();
  const stop = async () => {
    await container.stop();
  };
  const [host, port] = [container.getHost(), container.getMappedPort(2181)];
  try {
    await serving(host, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return { connectString: `${host}:${port}`, stop };
}

function engine(): RequestOptions {
  const host = process.env['DOCKER_HOST'] ?? '';
  if (!/^(tcp|http):/.test(host)) return { socketPath: host.replace(/^unix:\/\//, '') || '/var/run/docker.sock' };
  const { hostname, port } = new URL(host);
  return { host: hostname, port };
}

function prepareEnvironment(): void {
  // Its reaper is another image, which an engine without a registry cannot pull.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
  // Else it asks the engine for a gateway, which inside a container is not where ports are published.
  if (engine().socketPath !== undefined) process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= '127.0.0.1';
}

/** An open port is not enough: the server listens before it serves. */
async function serving(host: string, port: number): Promise<void> {
  const deadline = performance.now() + startLimitMs;
  while (performance.now() < deadline) {
    if ((await serverMode(host, port)) !== undefined) return;
    await delay(25);
  }
  throw new Error(`The ZooKeeper container at ${host}:${port} did not serve within ${startLimitMs} ms`);
}
