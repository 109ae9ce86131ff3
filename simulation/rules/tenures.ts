import { nameOf, sequenceOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/**
 * A remote waiter of a sticky lock is served next: a process that knows of it, or must know, lets no later call use its
 * znode.
 */
export class Tenures {
  readonly #bench: Bench;
  readonly #laterMs: number;
  /** When each client last learned that the znodes of a path have changed. */
  readonly #toldAt = new Map<string, number>();
  readonly #createdAt = new Map<string, number>();
  /** When each znode was released for the first time. Its client asks for other waiters then, and watches from then on. */
  readonly #askedAt = new Map<string, number>();

  constructor(bench: Bench, sessionTimeoutMs: number) {
    this.#bench = bench;
    this.#laterMs = 1.5 * sessionTimeoutMs;
  }

  /** A client gets the event that the children of a path have changed. */
  told(client: string, path: string): void {
    this.#toldAt.set(`${client} ${path}`, this.#bench.now());
  }

  created(path: string): void {
    this.#createdAt.set(path, this.#bench.now());
  }

  released({ hold, path }: Claim): void {
    if (hold.grantNumber === 0n) this.#askedAt.set(path, this.#bench.now());
  }

  granted(claim: Claim): void {
    const { hold, owner, path, calledAt } = claim;
    if (owner.lock.is !== 'sticky' || hold.isReentrant) return;
    const folder = owner.lock.path;
    const askedAt = this.#askedAt.get(path) ?? Infinity;
    const toldAt = this.#toldAt.get(`${owner.client.name} ${folder}`) ?? -Infinity;
    if (toldAt > askedAt && toldAt < calledAt)
      this.#bench.tell('sticky', `${nameOf(claim)} was granted past a remote waiter that its client knew`);
    const names = this.#bench.committed().children(folder);
    const passed = names.find((name) => {
      const createdAt = this.#createdAt.get(`${folder}/${name}`) ?? Infinity;
      // A call that came while the znode itself waited is one of those that its tenure serves.
      return sequenceOf(name) > sequenceOf(path) && Math.max(createdAt, askedAt) + this.#laterMs < calledAt;
    });
    if (passed !== undefined) this.#bench.tell('sticky', `${nameOf(claim)} was granted past ${passed}, which waits`);
  }
}
