import type { LockPlan } from '../plan.ts';
import type { Bench } from './bench.ts';
import type { Owner } from '../owner.ts';

/**
 * The acquires of one client join the queue of a mutex in the order in which they were called, unless a fault has hurt
 * the client meanwhile, or the path of the lock was missing. A call that may not wait looks at the queue first, so a later
 * call may join before it. The data of the znodes name the acquires.
 */
export class Calls {
  readonly #bench: Pick<Bench, 'tell' | 'now' | 'committed'>;
  readonly #byId = new Map<string, Called>();
  /** By client and path: the newest of the calls that have a znode. */
  readonly #joined = new Map<string, Called>();
  readonly #changedAt = new Map<string, number>();
  /** Until when a fault of each client may be felt. */
  readonly #troubledUntil = new Map<string, number>();
  readonly #feltMs: number;
  readonly #paths: ReadonlySet<string>;
  #calls = 0;

  constructor(bench: Pick<Bench, 'tell' | 'now' | 'committed'>, locks: readonly LockPlan[], sessionTimeoutMs: number) {
    this.#bench = bench;
    this.#feltMs = 1.3 * sessionTimeoutMs;
    this.#paths = new Set(locks.map(({ path }) => path));
  }

  called({ id, client, lock, call }: Owner): void {
    if (lock.is !== 'mutex' || !inOrder.has(call.how) || /\D$/.test(id)) return;
    const isThere = this.#bench.committed().ownerOf(lock.path) !== undefined;
    const isCertain = isThere && client.client?.session.isConnected === true && call.timeoutMs !== 0;
    this.#byId.set(`${id} at ${lock.path}`, {
      number: (this.#calls += 1),
      id,
      queue: `${client.name} at ${lock.path}`,
      path: lock.path,
      client: client.name,
      at: isCertain ? this.#bench.now() : -Infinity,
    });
  }

  /** A fault hurts these clients for this time. A request that is put off comes late. */
  hurt(clients: readonly string[], forMs: number): void {
    const until = this.#bench.now() + forMs + this.#feltMs;
    for (const client of clients)
      this.#troubledUntil.set(client, Math.max(until, this.#troubledUntil.get(client) ?? -Infinity));
  }

  changed(paths: readonly string[]): void {
    for (const path of paths) if (this.#paths.has(path)) this.#changedAt.set(path, this.#bench.now());
  }

  /** @param call the acquire that the data of a new znode name */
  created(call: string): void {
    const called = this.#byId.get(call);
    if (called === undefined) return;
    this.#byId.delete(call);
    const before = this.#joined.get(called.queue);
    if (before === undefined || before.number < called.number) this.#joined.set(called.queue, called);
    else if (this.#isUndisturbed(called))
      this.#bench.tell('calls', `${before.id} was called after ${called.id}, and has joined the queue before it`);
  }

  #isUndisturbed({ client, path, at }: Called): boolean {
    return at > Math.max(this.#troubledUntil.get(client) ?? -Infinity, this.#changedAt.get(path) ?? -Infinity);
  }
}

interface Called {
  readonly number: number;
  readonly id: string;
  readonly queue: string;
  readonly path: string;
  readonly client: string;
  /** -Infinity: nothing is known of its order. */
  readonly at: number;
}

const inOrder: ReadonlySet<string> = new Set(['plain', 'job', 'handler']);
