import { forceRelease, revoke } from '../src/index.ts';
import { phases, type Agenda } from '../lab/virtual/agenda.ts';
import { attachTwin } from './attach-twin.ts';
import { sequenceOf } from './claim.ts';
import { sessionName, type Judge } from './judge.ts';
import type { Fault, LockPlan, Plan } from './plan.ts';
import type { Herd } from './rules/herd.ts';
import type { Servers } from './servers.ts';
import type { SimClient } from './sim-client.ts';
import type { SimLink, SimNetwork } from './sim-network.ts';
import type { SimProcess } from './sim-process.ts';

/** Brings the faults of a plan about, and heals them. */
export class Striker {
  faults = 0;
  readonly #plan: Plan;
  readonly #world: Struck;
  readonly #heals = new Set<() => void>();

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
    this.#perform(fault);
  }

  /** Ends every fault that is still going on. */
  heal(): void {
    for (const heal of this.#heals) heal();
    this.#heals.clear();
  }

  #record(kind: string, target: string, clients: readonly string[], fault?: Fault): void {
    const { recorder } = this.#world.judge;
    const name = `f${this.faults}`;
    recorder.fault({ type: 'fault', fault: name, kind, target, clients, isStopped: kind === 'stall' });
    const forMs = fault && 'forMs' in fault ? fault.forMs : 0;
    this.#world.agenda.add(this.#world.agenda.now + forMs, phases.socket, undefined, () =>
      recorder.fault({ type: 'healed', fault: name }),
    );
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

  #perform(fault: Fault): void {
    switch (fault.do) {
      case 'server':
        return this.#strikeServer(fault);
      case 'block':
        return this.#block(fault);
      case 'stall':
        return this.#process(fault.process).stall(fault.forMs);
      case 'crash':
        return this.#crash(fault);
      case 'delete':
        return this.#delete(fault.lock, fault.index);
      default:
        return this.#strikeClient(fault, this.#world.clients[fault.client % this.#world.clients.length] as SimClient);
    }
  }

  #strikeClient(fault: Extract<Fault, { client: number }>, client: SimClient): void {
    const link = this.#linkOf(client);
    switch (fault.do) {
      case 'reset':
        link?.reset({ toServer: fault.loses === 'both', toClient: fault.loses !== 'nothing' });
        return;
      case 'half-open':
        if (link)
          this.#during(
            fault.forMs,
            link.hold({ toServer: fault.direction !== 'to client', toClient: fault.direction !== 'to server' }),
          );
        return;
      case 'slow':
        if (link) this.#during(fault.forMs, link.slowDown(fault.byMs));
        return;
      case 'attach':
        if (client.client)
          attachTwin(
            this.#world.network,
            client.process,
            fault.member % this.#plan.members,
            client.client.session.connection.identity,
            this.#plan.sessionTimeoutMs,
          );
        return;
      case 'expire':
        this.#expire(client);
        return;
      case 'force':
      case 'revoke':
        this.#ask(fault, client);
    }
  }

  #strikeServer({ member, how, forMs }: Extract<Fault, { do: 'server' }>): void {
    const { faults } = this.#world.servers;
    const target = member % this.#plan.members;
    if (how === 'crash') {
      faults.crash(target);
      this.#during(forMs, () => faults.restart(target));
    } else if (how === 'cut') {
      faults.cut(target);
      this.#during(forMs, () => faults.heal(target));
    } else {
      const deposed = faults.depose();
      if (deposed !== undefined) this.#during(forMs, () => faults.heal(deposed));
    }
  }

  #block({ process, member, how, forMs }: Extract<Fault, { do: 'block' }>): void {
    const target = member % this.#plan.members;
    const unblock = this.#world.network.block(this.#process(process), target, how);
    const releases = this.#world.network
      .linksOf(this.#process(process), target)
      .map((link) => (how === 'refuses' ? link.reset() : link.hold({ toServer: true, toClient: true })));
    this.#during(forMs, () => {
      unblock();
      for (const release of releases) release?.();
    });
  }

  #crash({ process: index, isSilent, restartAfterMs }: Extract<Fault, { do: 'crash' }>): void {
    const at = index % this.#world.processes.length;
    const process = this.#world.processes[at] as SimProcess;
    if (process.isDead) return;
    for (const link of this.#world.network.linksOf(process)) {
      // The kernel of a killed process ends its connections. A machine that lost its power says nothing.
      if (!isSilent) link.destroy();
      this.#world.network.links.delete(link);
    }
    process.isDead = true;
    this.#world.agenda.add(this.#world.agenda.now + restartAfterMs, phases.socket, undefined, () =>
      this.#world.restart(at),
    );
  }

  #delete(lockIndex: number, index: number): void {
    const lock = this.#plan.locks[lockIndex % this.#plan.locks.length] as LockPlan;
    const committed = this.#world.servers.committed();
    const paths = foldersOf(lock)
      .flatMap((folder) =>
        [...committed.children(folder)]
          .sort((a, b) => sequenceOf(a) - sequenceOf(b))
          .map((name) => `${folder}/${name}`),
      )
      .filter((path) => committed.ownerOf(path) !== 0n);
    const path = paths[index % Math.max(1, paths.length)];
    if (path === undefined) return;
    this.#record(
      'delete-znode',
      path,
      this.#world.clients.map(({ name }) => name),
    );
    this.#world.judge.takenZnode(path);
    this.#world.servers.faults.deleteZnode(path);
  }

  #expire({ client, name }: SimClient): void {
    if (!client || client.session.id === 0n) return;
    this.#record('close-session', sessionName(client.session.id), [name]);
    this.#world.judge.takenSession(client.session.id);
    this.#world.servers.faults.expire(client.session.id);
  }

  /** Another client asks the holder to release, or takes the lock from it. */
  #ask(fault: Extract<Fault, { do: 'force' | 'revoke' }>, asker: SimClient): void {
    const { client, process } = asker;
    const lock = this.#plan.locks[fault.lock % this.#plan.locks.length] as LockPlan;
    const committed = this.#world.servers.committed();
    const folder = lock.is === 'semaphore' || lock.is === 'semaphore-mutex' ? `${lock.path}/leases` : lock.path;
    const [first] = [...committed.children(folder)].sort((a, b) => sequenceOf(a) - sequenceOf(b));
    if (!client || client.host.isClosing || process.isDead || first === undefined) return;
    const path = `${folder}/${first}`;
    const timeoutMs = this.#plan.sessionTimeoutMs;
    this.#world.herd.asked(path, asker);
    this.#world.agenda.add(this.#world.agenda.now, phases.socket, process, () => {
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
    });
  }

  /** The present connection of a client. */
  #linkOf({ process, onWrite }: SimClient): SimLink | undefined {
    return this.#world.network.openLinksOf(process, onWrite)[0];
  }

  #process(index: number): SimProcess {
    return this.#world.processes[index % this.#world.processes.length] as SimProcess;
  }

  /** The fault ends after this time, or with `heal`. */
  #during(forMs: number, end: () => void): void {
    this.#heals.add(end);
    this.#world.agenda.add(this.#world.agenda.now + forMs, phases.socket, undefined, () => {
      if (this.#heals.delete(end)) end();
    });
  }
}

function targetOf(rest: object): string {
  return Object.entries(rest)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
}

/** The part of a world that faults strike. */
export interface Struck {
  readonly agenda: Agenda;
  readonly network: SimNetwork;
  readonly servers: Servers;
  readonly judge: Judge;
  readonly herd: Herd;
  readonly processes: readonly SimProcess[];
  readonly clients: readonly SimClient[];
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
