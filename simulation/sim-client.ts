import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  LockClient,
} from '../src/index.ts';
import type { Surroundings } from '../src/client/surroundings.ts';
import type { Grant } from '../src/internals/grant.ts';
import type { Clock } from '../src/support/clock.ts';
import type { Frame } from '../lab/proxy/zk-frame.ts';
import type { Random } from '../lab/random.ts';
import type { VirtualMachine } from '../lab/virtual/bridge.ts';
import { surroundingsOf } from '../lab/virtual/surroundings.ts';
import type { VirtualProcess } from '../lab/virtual/virtual-process.ts';
import { VirtualSocket } from '../lab/virtual/virtual-socket.ts';
import { connectRequest } from '../lab/wire/request.ts';
import type { LockPlan, Plan } from './plan.ts';
import { namesFor, type Registry } from './registry.ts';
import { tap, type Transaction, type WatchNews, type WireListener } from './wiretap.ts';

/** A client of the library in a simulated process, and its locks. */
export class SimClient {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly clock: Clock;
  /** The chance of its process. */
  readonly random: Random;
  /** Undefined until it is connected. */
  client: LockClient | undefined;
  readonly connected: Promise<LockClient>;
  /** The calls that wait for a lock. */
  waits = 0;
  /** When it last used a lock, and when its connection last changed; virtual milliseconds. */
  idleSince = 0;
  /** When the newest connection of each of its sessions began. */
  readonly connectedAt = new Map<bigint, number>();
  /** The timers of the library that are still to fire. */
  timers = 0;
  #open = 0;
  #bytesPerSecond = Infinity;
  readonly #sockets = new Set<VirtualSocket>();
  readonly #late = new Set<VirtualSocket>();
  readonly #locks = new Map<LockPlan, SimLock>();
  readonly #options: SimClientOptions;

  constructor(name: string, process: VirtualProcess, options: SimClientOptions) {
    this.#options = options;
    this.name = name;
    this.process = process;
    const { plan, machine, random, registry } = options;
    this.random = random;
    const { clock, chance, network } = surroundingsOf(process, machine, random);
    this.clock = clock;
    const surroundings: Surroundings = {
      clock: this.#counted(clock),
      chance,
      network: {
        names: namesFor(clock),
        connect: ({ host, port }, _tls, way) =>
          this.#tapped(network.connect({ host: way?.addresses[0] ?? host, port: registry.portAt(host, port) })),
      },
    };
    this.connected = LockClient.connectIn(surroundings, registry.functionFor(clock), {
      sessionTimeoutMs: plan.sessionTimeoutMs,
      connectionTimeoutMs: 1e9,
      tickTimeMs: plan.knowsTick ? plan.tickTimeMs : undefined,
    });
    this.connected.then(
      (client) => (this.client = client),
      () => undefined,
    );
  }

  /** The calls and the holds that have not ended. */
  get open(): number {
    return this.#open;
  }

  set open(open: number) {
    this.#open = open;
    this.#options.opened(this);
  }

  /** The connections that it has not ended. */
  get openSockets(): VirtualSocket[] {
    return [...this.#sockets].filter(({ destroyed }) => !destroyed);
  }

  /** The connections that were given up before a session was granted, and that close that session. */
  get lateSockets(): VirtualSocket[] {
    // Also one whose 'close' is still to come, because its timer ends with that.
    return [...this.#sockets].filter((socket) => this.#late.has(socket));
  }

  /** A lock was used, or the connection has changed. */
  noteUse(): void {
    this.idleSince = this.#options.machine.time.agenda.now;
  }

  /**
   * A second connection attaches to its session, as a ConnectRequest does that was delayed in the network until its
   * client had given that connection up. It says nothing more, and ends after the answer.
   */
  attachTwin(port: number): void {
    const { machine, plan } = this.#options;
    if (!this.client) return;
    const { id, password, lastZxid } = this.client.session.connection.identity;
    const ticket = { sessionId: id.readBigInt64BE(), password };
    const twin = machine.time.as(this.process, () =>
      VirtualSocket.connect(machine.network, { host: '127.0.0.1', port }, () =>
        twin.write(connectRequest(plan.sessionTimeoutMs, ticket, Number(lastZxid))),
      ),
    );
    twin.on('data', () => twin.destroy()).on('error', () => undefined);
    // In an outage, the session may move only now, long after the client was suspended by something else.
    twin.on('close', () => this.#options.gaveUp(this));
  }

  /** From now on, no more than that arrives in a second on each of its connections. */
  narrow(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
    for (const { arrivals } of this.#sockets) arrivals.bytesPerSecond = bytesPerSecond;
  }

  lock(plan: LockPlan, client: LockClient): SimLock {
    const known = this.#locks.get(plan);
    if (known) return known;
    const made = lockOf(plan, client, this.name);
    this.#locks.set(plan, made);
    if (plan.isRevocable === true) this.#makeRevocable(made);
    return made;
  }

  #makeRevocable(lock: SimLock): void {
    const revocable =
      lock.is === 'mutex'
        ? [lock.mutex]
        : lock.is === 'election'
          ? [lock.election]
          : lock.is === 'read-write'
            ? [lock.lock.readLock, lock.lock.writeLock]
            : [];
    for (const one of revocable) one.makeRevocable((hold) => this.#options.revoked(hold.grant));
  }

  #tapped(socket: VirtualSocket): VirtualSocket {
    const { wrote, answered, deletes, heard, attaches, gaveUp } = this.#options;
    this.#sockets.add(socket);
    socket.arrivals.bytesPerSecond = this.#bytesPerSecond;
    let isAsking = false;
    const giveUp = (): void => {
      if (isAsking) gaveUp(this);
      isAsking = false;
    };
    socket.on('close', () => {
      this.#sockets.delete(socket);
      giveUp();
    });
    tap(socket, {
      wrote: (transaction, isAgain) => wrote(this, transaction, isAgain),
      answered: (request, answer) => answered(this, request, answer),
      attaches: (session) => {
        isAsking = true;
        attaches(this, session);
      },
      connected: (session) => {
        isAsking = false;
        this.connectedAt.set(session, this.#options.machine.time.agenda.now);
      },
      deletes,
      gaveUp: () => {
        this.#late.add(socket);
        giveUp();
      },
      heard: (event) => heard(this, event),
    });
    return socket;
  }

  #counted(clock: Clock): Clock {
    return {
      ...clock,
      after: (delayMs, run) => {
        let isOver = false;
        const over = (): void => {
          if (!isOver) this.timers -= 1;
          isOver = true;
        };
        this.timers += 1;
        const cancel = clock.after(delayMs, () => {
          over();
          run();
        });
        return () => {
          over();
          cancel();
        };
      },
    };
  }
}

export interface SimClientOptions {
  readonly plan: Plan;
  readonly machine: VirtualMachine;
  readonly random: Random;
  readonly registry: Registry;
  /** Called for each transaction that the client sends. */
  readonly wrote: (client: SimClient, transaction: Transaction, isAgain: boolean) => void;
  /** Called for each answer to a transaction. */
  readonly answered: (client: SimClient, request: Buffer, answer: Frame) => void;
  /** Called when the client asks for this session. */
  readonly attaches: (client: SimClient, session: bigint) => void;
  /** The client gave up a connection on which it had asked for a session that it had before. */
  readonly gaveUp: (client: SimClient) => void;
  readonly deletes: WireListener['deletes'];
  readonly heard: (client: SimClient, event: WatchNews) => void;
  /** The number of its open calls has changed. */
  readonly opened: (client: SimClient) => void;
  /** Called when the library asks a holder to release. */
  readonly revoked: (grant: Grant) => void;
}

export type SimLock =
  | { readonly is: 'mutex'; readonly mutex: InterProcessMutex }
  | { readonly is: 'read-write'; readonly lock: InterProcessReadWriteLock }
  | { readonly is: 'election'; readonly election: LeaderElection }
  | { readonly is: 'semaphore'; readonly semaphore: InterProcessSemaphore }
  | { readonly is: 'semaphore-mutex'; readonly mutex: InterProcessSemaphoreMutex };

function lockOf(plan: LockPlan, client: LockClient, id: string): SimLock {
  switch (plan.is) {
    case 'mutex':
      return { is: 'mutex', mutex: new InterProcessMutex(client, plan.path) };
    case 'sticky':
      return { is: 'mutex', mutex: new InterProcessMutex(client, plan.path, { sticky: { idleMs: plan.idleMs } }) };
    case 'weighted':
      return {
        is: 'mutex',
        mutex: new InterProcessMutex(client, plan.path, { weights: { overtakesPerWeight: plan.overtakesPerWeight } }),
      };
    case 'election':
      return { is: 'election', election: new LeaderElection(client, plan.path, { id, protocol: plan.protocol }) };
    case 'read-write':
      return { is: 'read-write', lock: new InterProcessReadWriteLock(client, plan.path) };
    case 'semaphore':
      return {
        is: 'semaphore',
        semaphore: new InterProcessSemaphore(
          client,
          plan.path,
          plan.sharedCount === undefined ? { maxLeases: plan.maxLeases } : { sharedCount: plan.sharedCount },
        ),
      };
    case 'semaphore-mutex':
      return { is: 'semaphore-mutex', mutex: new InterProcessSemaphoreMutex(client, plan.path) };
  }
}
