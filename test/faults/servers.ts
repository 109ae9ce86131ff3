import { EmbeddedZooKeeper } from '../../src/testing/index.ts';
import { ServerConnection } from '../../src/testing/server-connection.ts';
import { JuteWriter } from '../../src/testing/jute.ts';
import { createPersistent, openAcl, remove, setData, type Operation } from '../../src/zookeeper/operations.ts';
import { Writer } from '../../src/zookeeper/wire.ts';
import { Ensemble } from '../../lab/ensemble/ensemble.ts';
import { Random } from '../../lab/random.ts';
import { VirtualMember } from '../../lab/servers/virtual/virtual-member.ts';
import { phases } from '../../lab/virtual/agenda.ts';
import type { VirtualMachine } from '../../lab/virtual/bridge.ts';
import { startWallMs } from '../../lab/virtual/clocks.ts';
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
    const start = () => EmbeddedZooKeeper.start({ ...options, clock: clockOf(machine, whose) });
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
  readonly #members: readonly VirtualMember[];

  static async start(machine: VirtualMachine, count: number): Promise<SeveralServers> {
    const servers = new SeveralServers(machine, count);
    await Promise.all(servers.#members.map((member) => member.start()));
    return servers;
  }

  private constructor(machine: VirtualMachine, count: number) {
    const whose = new VirtualProcess('ensemble', machine.time.agenda);
    const random = new Random(count, 0);
    const ensemble = new Ensemble({
      clock: clockOf(machine, whose),
      random: () => random.next(),
      members: count,
      tickTimeMs: ensembleTickMs,
      maxSessionTimeoutMs,
    });
    this.ensemble = ensemble;
    this.#members = Array.from({ length: count }, (_, id) => new VirtualMember({ machine, whose, ensemble, id }));
  }

  get ports(): readonly number[] {
    return this.#members.map(({ port }) => port);
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

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member) => member.stop()));
  }
}

function clockOf({ time }: VirtualMachine, whose: VirtualProcess) {
  return {
    now: () => startWallMs + whose.now,
    after: (delayMs: number, run: () => void) => time.add(Math.max(1, delayMs), phases.timer, run, { whose }),
  };
}
