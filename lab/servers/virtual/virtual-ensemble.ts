import { Ensemble as SimulatedEnsemble, type EnsembleOptions } from '../../ensemble/ensemble.ts';
import type { VirtualMachine } from '../../virtual/bridge.ts';
import { serverClock } from '../../virtual/surroundings.ts';
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
  readonly ensemble: SimulatedEnsemble;
  /** The process of all members. */
  readonly process: VirtualProcess;

  static async start(
    machine: VirtualMachine,
    size: number,
    { tickTimeMs = 500, containerCheckMs = 60_000, config = {}, ...others }: ServerOptions,
  ): Promise<VirtualEnsemble> {
    const { syncLimit = 10, maxSessionTimeout = 60_000, ...unknown } = config;
    if (Object.keys({ ...unknown, ...others }).length > 0)
      throw new Error('A virtual ensemble has no configuration: a test of it belongs into test/contract');
    const ensemble = new VirtualEnsemble(machine, new Random(size, 0), {
      members: size,
      tickTimeMs,
      maxSessionTimeoutMs: Number(maxSessionTimeout),
      containerCheckIntervalMs: containerCheckMs,
      syncLimit: Number(syncLimit),
    });
    await ensemble.start();
    return ensemble;
  }

  constructor(machine: VirtualMachine, random: Random, options: Omit<EnsembleOptions, 'clock' | 'random'>) {
    const whose = (this.process = new VirtualProcess('ensemble', machine.time.agenda));
    const ensemble = (this.ensemble = new SimulatedEnsemble({
      clock: serverClock(whose, machine.time, 0),
      random: () => random.next(),
      ...options,
    }));
    this.servers = Array.from(
      { length: options.members },
      (_, id) => new VirtualMember({ machine, whose, ensemble, id }),
    );
    this.connectString = this.servers.map((server) => server.connectString).join(',');
  }

  /** Resolves when all members listen. */
  async start(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.start()));
  }

  async leader(): Promise<ZooKeeperServer> {
    await until('a member leads', () => this.ensemble.leader !== undefined);
    return this.servers[this.ensemble.leader ?? -1] as ZooKeeperServer;
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
