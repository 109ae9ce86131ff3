import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { zooKeeperImage } from '../choose-zookeeper.ts';
import { onFreshPorts, PortTakenError } from '../free-port.ts';
import { afterThisProcess } from './after-this-process.ts';
import { command } from './command.ts';
import { ensureComposeCommand } from './compose-command.ts';
import { askEngine } from './engine-api.ts';

export interface ComposeMember {
  /** The service in docker-compose.yml, like `zoo1`. */
  readonly name: string;
  readonly port: number;
  readonly connectString: string;
}

const file = fileURLToPath(new URL('../../../docker-compose.yml', import.meta.url));
const services = ['zoo1', 'zoo2', 'zoo3'] as const;
const commandLimitMs = 60_000;
const healthLimitMs = 60_000;
const pollMs = 100;
const portTries = 20;
const portPauseMs = 500;
/** The answer of the engine if another program has one of the ports. */
const portIsTaken = /port is already allocated|address already in use/;

/**
 * The ensemble of docker-compose.yml. It has its own project name and ports, so that it can run next to a manually
 * started one.
 */
export class ComposeEnsemble implements AsyncDisposable {
  readonly members: readonly ComposeMember[];
  readonly connectString: string;
  readonly #compose: readonly [string, ...string[]];
  readonly #env: Readonly<Record<string, string>>;
  readonly #cancelRemoval: () => void;

  /** Resolves when every member is healthy. The image must exist. */
  static async start(): Promise<ComposeEnsemble> {
    const compose = await ensureComposeCommand();
    return onFreshPorts(services.length, async (ports) => {
      const ensemble = new ComposeEnsemble(compose, ports);
      try {
        await ensemble.#run('up', '-d');
        await ensemble.#healthy(services);
      } catch (error) {
        await ensemble.stop();
        if (portIsTaken.test(String(error))) throw new PortTakenError(String(error), { cause: error });
        throw error;
      }
      return ensemble;
    });
  }

  private constructor(compose: readonly [string, ...string[]], ports: readonly number[]) {
    this.members = services.map((name, index) => ({
      name,
      port: ports[index] ?? 0,
      connectString: `127.0.0.1:${ports[index] ?? 0}`,
    }));
    this.connectString = this.members.map((member) => member.connectString).join(',');
    this.#compose = compose;
    this.#env = {
      COMPOSE_PROJECT_NAME: `zookeeper-fair-lock-${randomUUID().slice(0, 8)}`,
      ZOOKEEPER_IMAGE: zooKeeperImage(process.env),
      ...Object.fromEntries(this.members.map(({ name, port }) => [`${name.toUpperCase()}_PORT`, String(port)])),
    };
    this.#cancelRemoval = afterThisProcess(...this.#command(...down), this.#env);
  }

  /** Ends the server of the member; the data stays. */
  async stopMember({ name }: ComposeMember): Promise<void> {
    await this.#run('stop', name);
  }

  /** Resolves when the member is healthy again. Another program may have its port for a while. */
  async startMember({ name }: ComposeMember): Promise<void> {
    for (let left = portTries; ; left -= 1) {
      try {
        await this.#run('start', name);
        break;
      } catch (error) {
        if (left === 0 || !portIsTaken.test(String(error))) throw error;
        await delay(portPauseMs);
      }
    }
    await this.#healthy([name]);
  }

  /** Removes all containers, networks and volumes of the ensemble. */
  async stop(): Promise<void> {
    await this.#run(...down);
    this.#cancelRemoval();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #run(...args: string[]): Promise<void> {
    return command(...this.#command(...args), { limitMs: commandLimitMs, env: this.#env });
  }

  #command(...args: string[]): [name: string, args: string[]] {
    const [name, ...first] = this.#compose;
    return [name, [...first, '-f', file, ...args]];
  }

  async #healthy(names: readonly string[]): Promise<void> {
    const deadline = performance.now() + healthLimitMs;
    let status = new Map<string, string>();
    while (performance.now() < deadline) {
      status = await this.#status();
      if (names.every((name) => status.get(name)?.includes('(healthy)'))) return;
      await delay(pollMs);
    }
    const seen = names.map((name) => `${name}: ${status.get(name) ?? 'not there'}`).join(', ');
    throw new Error(`Not healthy within ${healthLimitMs} ms: ${seen}`);
  }

  /** The state of each service, in the engine's words, like `Up 3 seconds (healthy)`. */
  async #status(): Promise<Map<string, string>> {
    const filters = JSON.stringify({
      label: [`com.docker.compose.project=${this.#env['COMPOSE_PROJECT_NAME'] ?? ''}`],
    });
    const answer = await askEngine(`/containers/json?all=true&filters=${encodeURIComponent(filters)}`);
    const containers = JSON.parse(answer?.body ?? '[]') as { Status: string; Labels: Record<string, string> }[];
    return new Map(containers.map(({ Status, Labels }) => [Labels['com.docker.compose.service'] ?? '', Status]));
  }
}

// The data of the servers is not needed afterwards, so that stopping does not wait for them.
const down = ['down', '--volumes', '--timeout', '0'];
