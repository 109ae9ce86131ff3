import { forceRelease, revoke } from '../src/index.ts';
import type { VirtualEnsemble } from '../lab/servers/virtual/virtual-ensemble.ts';
import { phases } from '../lab/virtual/agenda.ts';
import type { VirtualMachine } from '../lab/virtual/bridge.ts';
import type { Lane } from '../lab/virtual/lane.ts';
import type { VirtualProcess } from '../lab/virtual/virtual-process.ts';
import type { VirtualSocket } from '../lab/virtual/virtual-socket.ts';
import { inQueueOrder } from './claim.ts';
import { sessionName, type Judge } from './judge.ts';
import type { Fault, LockPlan, Move, Plan } from './plan.ts';
import type { Registry } from './registry.ts';
import type { Herd } from './rules/herd.ts';
import type { Places } from './rules/places.ts';
import type { SimClient } from './sim-client.ts';

/** Brings the faults of a plan about, and heals them. */
export class Striker {
  faults = 0;
  readonly #plan: Plan;
  readonly #world: Struck;
  readonly #heals = new Set<() => void>();
  /** The shared counts that are still to be written. */
  readonly #counts = new Map<string, number>();

  constructor(plan: Plan, world: Struck) {
    this.#plan = plan;
    this.#world = world;
  }

  strike(fault: Fault): void {
    this.faults += 1;
    const { do: kind, ...rest } = fault;
    // A znode or a session that a third party takes is recorded by its name, because the judge looks for it.
    if (kind !== 'delete' && kind !== 'expire')
      this.#record(kind === 'crash' ? 'kill-client' : kind, targetOf(rest), this.#hurtBy(fault), fault);
    this.#hurt(fault);
    this.#perform(fault);
  }

  /** Writes the largest count of each semaphore whose limit is shared. */
  fillCounts(): void {
    for (const lock of this.#plan.locks) if (lock.is === 'semaphore') this.#count(lock, lock.maxLeases);
  }

  /** Ends every fault that is still going on. A call for several leases may wait for a larger count. */
  heal(): void {
    this.fillCounts();
    for (const heal of this.#heals) heal();
    this.#heals.clear();
  }

  #record(kind: string, target: string, clients: readonly string[], fault?: Fault): void {
    const { recorder } = this.#world.judge;
    const name = `f${this.faults}`;
    recorder.fault({ type: 'fault', fault: name, kind, target, clients, isStopped: kind === 'stall' });
    const forMs = fault && 'forMs' in fault ? fault.forMs : 0;
    this.#after(forMs, () => recorder.fault({ type: 'healed', fault: name }));
  }

  /** The clients that a fault may hurt. */
  #hurtBy(fault: Fault): string[] {
    const { clients } = this.#world;
    const hurt =
      'client' in fault
        ? clients.filter((_, index) => index === fault.client % clients.length)
        : 'process' in fault
          ? this.#world.clientsOf(fault.process)
          : clients;
    return hurt.map(({ name }) => name);
  }

  /** Tells the judge of losses. It knows itself of the znodes and sessions that a third party takes. */
  #hurt(fault: Fault): void {
    const { losses, taken, calls } = this.#world.judge;
    const clients = this.#hurtBy(fault);
    calls.hurt(
      clients,
      fault.do === 'throttle' ? Infinity : fault.do === 'move' ? feltMs(fault) : 'forMs' in fault ? fault.forMs : 0,
    );
    if (fault.do === 'server') taken.outage(fault.forMs);
    switch (fault.do) {
      case 'reset':
      case 'expire':
        return losses.hurt(clients, 0, 'delay');
      case 'attach':
        return losses.hurt(clients, 0, 'moved');
      case 'throttle':
        return losses.throttled(clients, fault.requests);
      case 'slow':
        return losses.hurt(clients, fault.forMs + fault.byMs, 'delay');
      case 'half-open':
      case 'stall':
        return losses.hurt(clients, fault.forMs, 'delay');
      case 'block':
      case 'wipe':
      case 'server':
        return losses.hurt(clients, fault.forMs, 'outage');
      case 'rename':
        return losses.hurt(clients, fault.lookupMs, 'outage');
      case 'move':
        return losses.hurt(clients, feltMs(fault), 'outage');
      case 'crash':
      case 'delete':
      case 'count':
      case 'force':
      case 'revoke':
        return;
    }
  }

  #perform(fault: Fault): void {
    switch (fault.do) {
      case 'server':
        return this.#strikeServer(fault);
      case 'wipe':
        return this.#wipe(fault.forMs);
      case 'block':
        return this.#block(fault);
      case 'rename':
        return this.#world.registry.rename(fault.lookupMs);
      case 'move':
        return this.#during(fault.forMs, this.#world.registry.begin(fault));
      case 'stall':
        return this.#stall(fault);
      case 'crash':
        return this.#crash(fault);
      case 'delete':
        return this.#delete(fault.lock, fault.index);
      case 'count':
        return this.#count(this.#lockAt(fault.lock), fault.count);
      default:
        return this.#strikeClient(fault, this.#world.clients[fault.client % this.#world.clients.length] as SimClient);
    }
  }

  #strikeClient(fault: Extract<Fault, { client: number }>, client: SimClient): void {
    const [socket] = client.openSockets;
    const toServer = socket?.peer?.arrivals;
    const toClient = socket?.arrivals;
    switch (fault.do) {
      case 'reset':
        if (fault.loses === 'both') toServer?.lose();
        if (fault.loses !== 'nothing') toClient?.lose();
        socket?.break();
        return;
      case 'half-open':
        this.#hold(fault.forMs, [
          fault.direction === 'to client' ? undefined : toServer,
          fault.direction === 'to server' ? undefined : toClient,
        ]);
        return;
      case 'slow':
        for (const lane of [toServer, toClient]) {
          if (!lane) continue;
          lane.slowdownMs += fault.byMs;
          this.#during(fault.forMs, () => (lane.slowdownMs -= fault.byMs));
        }
        return;
      case 'attach':
        client.attachTwin(this.#portOf(fault.member));
        return;
      case 'expire':
        this.#expire(client);
        return;
      case 'throttle':
        if (client.client) this.#world.servers.ensemble.throttle(client.client.session.id, fault.requests);
        return;
      case 'force':
      case 'revoke':
        this.#ask(fault, client);
    }
  }

  #strikeServer({ member, how, forMs }: Extract<Fault, { do: 'server' }>): void {
    const { ensemble, servers } = this.#world.servers;
    const target = member % this.#plan.members;
    switch (how) {
      case 'crash':
        void servers[target]?.kill();
        this.#during(forMs, () => void servers[target]?.start());
        return;
      case 'cut':
        ensemble.cut(target);
        this.#during(forMs, () => ensemble.heal(target));
        return;
      case 'slow':
        this.#during(forMs, ensemble.slowDown(target, this.#plan.sessionTimeoutMs / 8));
        return;
      case 'stop':
        servers[target]?.pause();
        this.#during(forMs, () => servers[target]?.resume());
        return;
      case 'depose': {
        const deposed = ensemble.depose();
        if (deposed !== undefined) this.#during(forMs, () => ensemble.heal(deposed));
      }
    }
  }

  #wipe(forMs: number): void {
    const { ensemble, servers } = this.#world.servers;
    for (const server of servers) void server.kill();
    ensemble.wipe();
    const { clients, judge } = this.#world;
    judge.wiped(clients.flatMap(({ client }) => (client ? [client.session.id] : [])));
    this.#during(forMs, () => {
      for (const server of servers) void server.start();
      this.fillCounts();
    });
  }

  #block({ process, member, how, isForNew, forMs }: Extract<Fault, { do: 'block' }>): void {
    const port = this.#portOf(member);
    this.#during(forMs, this.#world.machine.network.block(this.#process(process), port, how));
    if (isForNew) return;
    for (const socket of this.#socketsOf(this.#process(process))) {
      if (socket.remotePort !== port) continue;
      const lanes = [socket.arrivals, socket.peer?.arrivals];
      if (how === 'swallows') this.#hold(forMs, lanes);
      else {
        for (const lane of lanes) lane?.lose();
        socket.break();
      }
    }
  }

  /** A process that is stalled twice goes on when both stalls are over. */
  #stall({ process: index, forMs }: Extract<Fault, { do: 'stall' }>): void {
    const process = this.#process(index);
    process.stalledUntil = Math.max(process.stalledUntil, this.#world.machine.time.agenda.now + forMs);
  }

  #crash({ process: index, isSilent, restartAfterMs }: Extract<Fault, { do: 'crash' }>): void {
    const at = index % this.#world.processes.length;
    const process = this.#world.processes[at] as VirtualProcess;
    if (process.isDead) return;
    // The kernel of a killed process ends its connections. A machine that lost its power says nothing.
    if (!isSilent) for (const socket of this.#socketsOf(process)) socket.destroy();
    process.isDead = true;
    this.#after(restartAfterMs, () => this.#world.restart(at));
  }

  #lockAt(index: number): LockPlan {
    return this.#plan.locks[index % this.#plan.locks.length] as LockPlan;
  }

  /** An operator writes the shared count of a semaphore, as soon as there is a leader. */
  #count(lock: LockPlan, count: number): void {
    if (lock.is !== 'semaphore' || lock.sharedCount === undefined) return;
    const isNew = !this.#counts.has(lock.sharedCount);
    this.#counts.set(lock.sharedCount, count);
    if (isNew) this.#writeCount(lock.sharedCount);
  }

  #writeCount(path: string): void {
    const data = Buffer.alloc(4);
    data.writeInt32BE(this.#counts.get(path) ?? 0);
    if (this.#world.servers.ensemble.write(path, data)) this.#counts.delete(path);
    else this.#after(electionMs, () => this.#writeCount(path));
  }

  #delete(lockIndex: number, index: number): void {
    const lock = this.#lockAt(lockIndex);
    const committed = this.#world.servers.ensemble.committed();
    const paths = foldersOf(lock)
      .flatMap((folder) => inQueueOrder(committed.children(folder)).map((name) => `${folder}/${name}`))
      .filter((path) => committed.ownerOf(path) !== 0n);
    const path = paths[index % Math.max(1, paths.length)];
    if (path === undefined) return;
    this.#record(
      'delete-znode',
      path,
      this.#world.clients.map(({ name }) => name),
    );
    this.#world.judge.takenZnode(path);
    this.#world.places.taken(path);
    this.#world.servers.ensemble.deleteZnode(path);
  }

  #expire({ client, name }: SimClient): void {
    if (!client || client.session.id === 0n) return;
    this.#record('close-session', sessionName(client.session.id), [name]);
    this.#world.judge.takenSession(client.session.id);
    this.#world.servers.ensemble.expire(client.session.id);
  }

  /** Another client asks the holder to release, or takes the lock from it. */
  #ask(fault: Extract<Fault, { do: 'force' | 'revoke' }>, asker: SimClient): void {
    const { client, process } = asker;
    const lock = this.#lockAt(fault.lock);
    const committed = this.#world.servers.ensemble.committed();
    const folder = lock.is === 'semaphore' || lock.is === 'semaphore-mutex' ? `${lock.path}/leases` : lock.path;
    const [first] = inQueueOrder(committed.children(folder));
    if (!client || client.host.isClosing || process.isDead || first === undefined) return;
    const path = `${folder}/${first}`;
    const timeoutMs = this.#plan.sessionTimeoutMs;
    this.#world.herd.asked(path, asker);
    if (fault.do === 'force') {
      this.#world.judge.losses.forced(path);
      this.#world.places.taken(path);
    }
    const ask = (): void => {
      const asked =
        fault.do === 'force' ? forceRelease(client, path, { timeoutMs }) : revoke(client, path, { timeoutMs });
      asker.open += 1;
      asker.noteUse();
      const settled = (): void => {
        asker.open -= 1;
        asker.noteUse();
      };
      asked.then(settled, settled);
      if (fault.do === 'revoke') asked.then(() => this.#world.judge.revocations.asked(path), ignore);
    };
    this.#world.machine.time.add(0, phases.socket, ask, { whose: process });
  }

  #socketsOf(process: VirtualProcess): VirtualSocket[] {
    const { clients, closed } = this.#world;
    return [...clients, ...closed].flatMap((client) => (client.process === process ? client.openSockets : []));
  }

  #process(index: number): VirtualProcess {
    return this.#world.processes[index % this.#world.processes.length] as VirtualProcess;
  }

  #portOf(member: number): number {
    return this.#world.servers.servers[member % this.#plan.members]?.port ?? 0;
  }

  /** Nothing arrives on these lanes for this time, and nobody notices. */
  #hold(forMs: number, lanes: readonly (Lane | undefined)[]): void {
    for (const lane of lanes) {
      if (!lane) continue;
      lane.isHeld = true;
      this.#during(forMs, () => (lane.isHeld = false));
    }
  }

  /** The fault ends after this time, or with `heal`. */
  #during(forMs: number, end: () => void): void {
    this.#heals.add(end);
    this.#after(forMs, () => {
      if (this.#heals.delete(end)) end();
    });
  }

  #after(delayMs: number, run: () => void): void {
    this.#world.machine.time.add(delayMs, phases.socket, run);
  }
}

/** A list that cannot be used is asked for again after ten seconds at most, and its names are looked up. */
function feltMs({ forMs, afterMs }: Move): number {
  return forMs + afterMs + 15_000;
}

/** Soon there is another leader. */
const electionMs = 100;

function targetOf(rest: object): string {
  return Object.entries(rest)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
}

/** The part of a world that faults strike. */
export interface Struck {
  readonly machine: VirtualMachine;
  readonly servers: VirtualEnsemble;
  readonly registry: Registry;
  readonly judge: Judge;
  readonly herd: Herd;
  readonly places: Places;
  readonly processes: readonly VirtualProcess[];
  readonly clients: readonly SimClient[];
  /** The clients that were closed, and have successors. */
  readonly closed: readonly SimClient[];
  /** The clients of a process, by its number. */
  clientsOf(process: number): readonly SimClient[];
  /** A process that has crashed starts again. */
  restart(process: number): void;
}

/** The folders in which the znodes of a lock's participants stand. */
export function foldersOf({ is, path }: LockPlan): string[] {
  return is === 'semaphore' || is === 'semaphore-mutex' ? [`${path}/leases`, `${path}/locks`] : [path];
}

function ignore(): void {
  // The request was not written, or the client closes.
}
