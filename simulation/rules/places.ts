import type { CommittedZnode } from '../../lab/ensemble/committed.ts';
import type { LockPlan } from '../plan.ts';
import type { Bench } from './bench.ts';

/**
 * A waiter keeps its place: each acquire of a mutex waits with one znode, as long as its session lives and nobody else
 * takes that znode. The data of the znodes name the acquires. A create whose answer was lost may be carried out after the
 * next one (ZOOKEEPER-710): then the acquire does not wait with its znode.
 */
export class Places {
  readonly #bench: Pick<Bench, 'tell'>;
  readonly #read: (path: string) => CommittedZnode | undefined;
  readonly #folders: ReadonlySet<string>;
  readonly #byCall = new Map<string, Place>();
  readonly #taken = new Set<string>();
  /** The paths that clients asked for, without the numbers, in the order of the requests. */
  readonly #asked = new Map<string, number>();

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

  /** A client asks for this znode, whose number the servers append. */
  asked(path: string): void {
    this.#asked.set(path, this.#asked.size);
  }

  /** Returns the acquire that the new znode names. */
  created(path: string): string | undefined {
    const folder = path.slice(0, path.lastIndexOf('/'));
    const znode = this.#read(path);
    // An acquire of a multi-lock has the default data.
    if (!this.#folders.has(folder) || !znode?.data?.includes('#')) return undefined;
    const call = `${znode.data.toString()} at ${folder}`;
    const before = this.#byCall.get(call);
    if (before && this.#orderOf(path) < this.#orderOf(before.path)) return undefined;
    this.#byCall.set(call, { path, session: znode.ephemeralOwner });
    if (before?.session === znode.ephemeralOwner && !this.#taken.has(before.path))
      this.#bench.tell('place', `the acquire of ${call} left its place ${before.path} for ${path}`);
    return call;
  }

  #orderOf(path: string): number {
    return this.#asked.get(path.slice(0, -sequenceDigits)) ?? 0;
  }
}

interface Place {
  readonly path: string;
  readonly session: bigint;
}

const sequenceDigits = 10;
