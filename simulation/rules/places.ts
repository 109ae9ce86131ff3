import type { CommittedZnode } from '../../lab/ensemble/committed.ts';
import type { LockPlan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * A waiter keeps its place: each acquire of a mutex waits with one znode, as long as its session lives and nobody else
 * takes that znode. The data of the znodes name the acquires.
 */
export class Places {
  readonly #bench: Pick<Bench, 'tell'>;
  readonly #read: (path: string) => CommittedZnode | undefined;
  readonly #folders: ReadonlySet<string>;
  readonly #byCall = new Map<string, Place>();
  readonly #taken = new Set<string>();

  constructor(
    bench: Pick<Bench, 'tell'>,
    locks: readonly LockPlan[],
    read: (path: string) => CommittedZnode | undefined,
  ) {
    this.#bench = bench;
    this.#read = read;
    this.#folders = new Set(locks.filter(({ is }) => is === 'mutex').map(({ path }) => path));
  }

  /** Somebody else takes the znode, or asks its owner to give it up. */
  taken(path: string): void {
    this.#taken.add(path);
  }

  created(path: string): void {
    const folder = path.slice(0, path.lastIndexOf('/'));
    const znode = this.#read(path);
    // An acquire of a multi-lock has the default data.
    if (!this.#folders.has(folder) || !znode?.data?.includes('#')) return;
    const call = `${znode.data.toString()} at ${folder}`;
    const before = this.#byCall.get(call);
    this.#byCall.set(call, { path, session: znode.ephemeralOwner });
    if (before?.session !== znode.ephemeralOwner || this.#taken.has(before.path)) return;
    this.#bench.tell('place', `the acquire of ${call} left its place ${before.path} for ${path}`);
  }
}

interface Place {
  readonly path: string;
  readonly session: bigint;
}
