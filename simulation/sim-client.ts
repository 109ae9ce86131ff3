import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  LockClient,
} from '../src/index.ts';
import type { SharedGrant } from '../src/mutex/hold.ts';
import type { Clock } from '../src/support/clock.ts';
import type { LockPlan, Plan } from './plan.ts';
import type { SimNetwork } from './sim-network.ts';
import type { SimProcess } from './sim-process.ts';
import { tapped, type WatchListener } from './wiretap.ts';

/** A client of the library in a simulated process, and its locks. */
export class SimClient {
  readonly name: string;
  readonly process: SimProcess;
  /** Undefined until it is connected. */
  client: LockClient | undefined;
  readonly connected: Promise<LockClient>;
  /** The calls and the holds that have not ended. */
  open = 0;
  /** The calls that wait for a lock. */
  waits = 0;
  /** When it last used a lock, and when its connection last changed; virtual milliseconds. */
  idleSince = 0;
  /** The timers of the library that are still to fire. */
  timers = 0;
  readonly #locks = new Map<LockPlan, SimLock>();
  readonly #options: SimClientOptions;

  /** Called for each transaction that it sends. It also names the client in the network. */
  readonly onWrite = (): void => this.#options.wrote(this);

  constructor(name: string, process: SimProcess, options: SimClientOptions) {
    this.#options = options;
    this.name = name;
    this.process = process;
    const { plan, network } = options;
    const hosts = Array.from({ length: plan.members }, (_, member) => `s${member}:2181`).join(',');
    const surroundings = {
      ...process.surroundings,
      clock: this.#counted(process.clock),
      network: tapped(network.of(process, this.onWrite), {
        deletes: options.deletes,
        heard: (path, session, isForgetting) => options.heard(this, path, session, isForgetting),
      }),
    };
    this.connected = LockClient.connectIn(surroundings, hosts, {
      sessionTimeoutMs: plan.sessionTimeoutMs,
      connectionTimeoutMs: 1e9,
      tickTimeMs: plan.knowsTick ? plan.tickTimeMs : undefined,
    });
    this.connected.then(
      (client) => (this.client = client),
      () => undefined,
    );
  }

  /** A lock was used, or the connection has changed. */
  noteUse(): void {
    this.idleSince = this.#options.network.agenda.now;
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
    for (const one of revocable) one.makeRevocable((hold) => this.#options.revoked(hold.shared));
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
  readonly network: SimNetwork;
  /** Called for each transaction that the client sends. */
  readonly wrote: (client: SimClient) => void;
  readonly deletes: WatchListener['deletes'];
  readonly heard: (client: SimClient, ...event: Parameters<WatchListener['heard']>) => void;
  /** Called when the library asks a holder to release. */
  readonly revoked: (shared: SharedGrant) => void;
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
        semaphore: new InterProcessSemaphore(client, plan.path, { maxLeases: plan.maxLeases }),
      };
    case 'semaphore-mutex':
      return { is: 'semaphore-mutex', mutex: new InterProcessSemaphoreMutex(client, plan.path) };
  }
}
