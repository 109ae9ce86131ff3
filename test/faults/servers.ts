import { EmbeddedZooKeeper } from '../../packages/testing/src/index.ts';
import { ServerConnection } from '../../packages/testing/src/server/server-connection.ts';
import { JuteWriter } from '../../packages/testing/src/wire/jute.ts';
import { createPersistent, openAcl, remove, setData, type Operation } from '../../src/zookeeper/wire/operations.ts';
import { Writer } from '../../src/zookeeper/wire/wire.ts';
import type { Ensemble } from '../../lab/ensemble/ensemble.ts';
import { Random } from '../../lab/random.ts';
import { VirtualEnsemble } from '../../lab/servers/virtual/virtual-ensemble.ts';
import type { VirtualMachine } from '../../lab/virtual/bridge.ts';
import { serverClock } from '../../lab/virtual/surroundings.ts';
import { VirtualProcess } from '../../lab/virtual/virtual-process.ts';

const tickTimeMs = 100;
/** Members notice a cut after five ticks. */
const ensembleTickMs = 200;
const maxSessionTimeoutMs = 60_000;

/** The servers of one case, and their data, which a case reads and changes without a connection. */
export interface Servers {
  readonly ports: readonly number[];
  readonly tickTimeMs: number;
  /** The ensemble, if there are several servers. */
  readonly ensemble: Ensemble | undefined;
  /** The names of the children of a znode, each with the session that owns it; 0n for a persistent one. */
  children(path: string): { readonly name: string; readonly owner: bigint }[];
  exists(path: string): boolean;
  create(path: string): void;
  write(path: string, data: Buffer): void;
  remove(path: string): void;
  /** Ends a session, as if its client had been silent for its timeout. */
  endSession(id: bigint): void;
  stop(): Promise<void>;
}

export function startServers(machine: VirtualMachine, members: number): Promise<Servers> {
  return members === 1 ? OneServer.start(machine) : SeveralServers.start(machine, members);
}

class OneServer implements Servers {
  readonly tickTimeMs = tickTimeMs;
  readonly ensemble = undefined;
  readonly #zk: EmbeddedZooKeeper;
  readonly #whose: VirtualProcess;
  readonly #machine: VirtualMachine;

  static async start(machine: VirtualMachine): Promise<OneServer> {
    const whose = new VirtualProcess('server', machine.time.agenda);
    const random = new Random(1, 0);
    const options = { tickTimeMs, maxSessionTimeoutMs, port: machine.network.freshPort(), random: () => random.next() };
    const start = () => EmbeddedZooKeeper.start({ ...options, clock: serverClock(whose, machine.time) });
    return new OneServer(machine, whose, await machine.time.as(whose, start));
  }

  private constructor(machine: VirtualMachine, whose: VirtualProcess, zk: EmbeddedZooKeeper) {
    this.#machine = machine;
    this.#whose = whose;
    this.#zk = zk;
  }

  get ports(): readonly number[] {
    return [this.#zk.port];
  }

  children(path: string): { name: string; owner: bigint }[] {
    const { tree } = this.#zk.server.machine;
    return (tree.get(path)?.children ?? []).map((name) => {
      const life = tree.get(`${path}/${name}`)?.life;
      return { name, owner: life?.is === 'ephemeral' ? life.sessionId : 0n };
    });
  }

  exists(path: string): boolean {
    return this.#zk.server.machine.tree.get(path) !== undefined;
  }

  create(path: string): void {
    this.#perform(createPersistent(path, openAcl));
  }

  write(path: string, data: Buffer): void {
    this.#perform(setData(path, data));
  }

  remove(path: string): void {
    this.#perform(remove(path));
  }

  endSession(id: bigint): void {
    this.#machine.time.as(this.#whose, () => this.#zk.server.endSession(id));
  }

  stop(): Promise<void> {
    return this.#zk.stop();
  }

  #perform(operation: Operation<unknown>): void {
    const { server } = this.#zk;
    const request = new Writer();
    operation.write(request);
    this.#machine.time.as(this.#whose, () => {
      const body = request.frame().subarray(4);
      const { events } = server.machine.answer({ sessionId: 0n, identities: [] }, 1, operation.opcode, body, 0);
      const event = new JuteWriter();
      for (const { watcher, type, path } of events)
        if (watcher instanceof ServerConnection)
          watcher.send(event.reset().int(-1).count(-1).int(0).int(type).int(3).text(path).frame());
      server.settled();
    });
  }
}

class SeveralServers implements Servers {
  readonly tickTimeMs = ensembleTickMs;
  readonly ensemble: Ensemble;
  readonly #servers: VirtualEnsemble;

  static async start(machine: VirtualMachine, members: number): Promise<SeveralServers> {
    const options = { members, tickTimeMs: ensembleTickMs, maxSessionTimeoutMs };
    const servers = new VirtualEnsemble(machine, new Random(members, 0), options);
    await servers.start();
    return new SeveralServers(servers);
  }

  private constructor(servers: VirtualEnsemble) {
    this.#servers = servers;
    this.ensemble = servers.ensemble;
  }

  get ports(): readonly number[] {
    return this.#servers.servers.map(({ port }) => port);
  }

  children(path: string): { name: string; owner: bigint }[] {
    const committed = this.ensemble.committed();
    return committed.children(path).map((name) => ({ name, owner: committed.ownerOf(`${path}/${name}`) ?? 0n }));
  }

  exists(path: string): boolean {
    return this.ensemble.committed().has(path);
  }

  create(): void {
    throw new Error('Nobody creates a znode in an ensemble without a connection');
  }

  write(): void {
    this.create();
  }

  remove(path: string): void {
    this.ensemble.deleteZnode(path);
  }

  endSession(id: bigint): void {
    this.ensemble.expire(id);
  }

  stop(): Promise<void> {
    return this.#servers.stop();
  }
}
