import { AsyncResource } from 'node:async_hooks';
import { Ensemble as SimulatedEnsemble } from '../../ensemble/ensemble.ts';
import { phases } from '../../virtual/agenda.ts';
import type { VirtualMachine } from '../../virtual/bridge.ts';
import { startWallMs } from '../../virtual/clocks.ts';
import { VirtualProcess } from '../../virtual/virtual-process.ts';
import { Random } from '../../random.ts';
import type { ServerOptions, ZooKeeperServer } from '../local-zookeeper.ts';
import type { Ensemble } from '../zookeeper-ensemble.ts';
import { until } from '../../until.ts';
import { VirtualMember } from './virtual-member.ts';

/** The simulated ensemble behind ports of the virtual network. */
export class VirtualEnsemble implements Ensemble {
  readonly servers: readonly VirtualMember[];
  readonly connectString: string;
  readonly #ensemble: SimulatedEnsemble;

  static async start(machine: VirtualMachine, size: number, options: ServerOptions): Promise<VirtualEnsemble> {
    const ensemble = new VirtualEnsemble(machine, size, options);
    await Promise.all(ensemble.servers.map((server) => server.start()));
    return ensemble;
  }

  private constructor(
    machine: VirtualMachine,
    size: number,
    { tickTimeMs = 500, containerCheckMs = 60_000, config = {}, ...others }: ServerOptions,
  ) {
    const { syncLimit = 10, ...unknown } = config;
    if (Object.keys({ ...unknown, ...others }).length > 0)
      throw new Error('A virtual ensemble has no configuration: a test of it belongs into test/contract');
    const { time } = machine;
    const whose = new VirtualProcess('ensemble', time.agenda);
    const random = new Random(size, 0);
    const resource = new AsyncResource('VirtualEnsemble');
    this.#ensemble = new SimulatedEnsemble({
      clock: {
        now: () => startWallMs + whose.now,
        after: (delayMs, run) => time.add(Math.max(0, delayMs), phases.timer, run, { whose, resource }),
      },
      random: () => random.next(),
      members: size,
      tickTimeMs,
      maxSessionTimeoutMs: 60_000,
      containerCheckIntervalMs: containerCheckMs,
      syncLimit: Number(syncLimit),
    });
    this.servers = Array.from(
      { length: size },
      (_, id) => new VirtualMember({ machine, whose, ensemble: this.#ensemble, id }),
    );
    this.connectString = this.servers.map((server) => server.connectString).join(',');
  }

  async leader(): Promise<ZooKeeperServer> {
    await until('a member leads', () => this.#ensemble.leader !== undefined);
    return this.servers[this.#ensemble.leader ?? -1] as ZooKeeperServer;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
