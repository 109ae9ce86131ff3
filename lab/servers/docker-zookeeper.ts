import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterThisProcess } from './docker/after-this-process.ts';
import { engineAddress } from './docker/engine-api.ts';
import { serverMode } from './four-letter-word.ts';

export { dockerHasImage } from './docker/engine-api.ts';

export interface ContainerZooKeeper {
  readonly connectString: string;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;

export async function startContainer(image: string): Promise<ContainerZooKeeper> {
  prepareEnvironment();
  const name = `zookeeper-fair-lock-${randomUUID().slice(0, 8)}`;
  const description = await describeContainer(image, name);
  // Without the reaper, nothing else removes the container of an interrupted run.
  const cancelRemoval = afterThisProcess('docker', ['rm', '--force', '--volumes', name]);
  const container = await description.start();
  const stop = async () => {
    await container.stop();
    cancelRemoval();
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

function prepareEnvironment(): void {
  // The reaper of testcontainers is another image, which an engine without a registry cannot pull.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] ??= 'true';
  // Otherwise testcontainers asks the engine for a gateway, and inside a container the ports are not published there.
  if ('socketPath' in engineAddress()) process.env['TESTCONTAINERS_HOST_OVERRIDE'] ??= '127.0.0.1';
}

async function describeContainer(image: string, name: string) {
  const { GenericContainer } = await import('testcontainers');
  class Container extends GenericContainer {
    /** Overrides the default of testcontainers, which publishes on every address of the machine. */
    protected override beforeContainerCreated(): Promise<void> {
      if (process.env['TESTCONTAINERS_HOST_OVERRIDE'] === '127.0.0.1')
        this.hostConfig.PortBindings = { '2181/tcp': [{ HostIp: '127.0.0.1', HostPort: '0' }] };
      return Promise.resolve();
    }
  }
  return new Container(image)
    .withName(name)
    .withEnvironment({
      ZOO_TICK_TIME: '500',
      ZOO_MAX_CLIENT_CNXNS: '0',
      ZOO_4LW_COMMANDS_WHITELIST: '*',
      ZOO_ADMINSERVER_ENABLED: 'false',
      ZOO_CFG_EXTRA: 'maxSessionTimeout=60000',
    })
    .withExposedPorts(2181)
    .withStartupTimeout(startLimitMs);
}

/** Waits until the server serves. An open port is not enough, because the server listens earlier. */
async function serving(host: string, port: number): Promise<void> {
  const deadline = performance.now() + startLimitMs;
  while (performance.now() < deadline) {
    if ((await serverMode(host, port)) !== undefined) return;
    await delay(25);
  }
  throw new Error(`The ZooKeeper container at ${host}:${port} did not serve within ${startLimitMs} ms`);
}
