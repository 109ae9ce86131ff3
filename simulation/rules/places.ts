import type { CommittedZnode } from '../../lab/ensemble/committed.ts';
import type { LockPlan } from '../plan.ts';
import type { SimClient } from '../sim-client.ts';
import type { Bench } from './bench.ts';

/**
 * A waiter keeps its place: each acquire of a mutex waits with one znode, as long as its session lives and nobody else
 * takes that znode. The data of the znodes name the acquires. A create whose answer was lost may be carried out after its
 * client has connected again, and has not found the znode (ZOOKEEPER-710): then the acquire waits with the next one,
 * whichever of the two comes first.
 */
export class Places {
  readonly #bench: Pick<Bench, 'tell' | 'now'>;
  readonly #read: (path: string) => CommittedZnode | undefined;
  readonly #folders: ReadonlySet<string>;
  readonly #byCall = new Map<string, Place>();
  readonly #taken = new Set<string>();
  /** The paths that clients asked for, without the numbers. */
  readonly #asked = new Map<string, Request>();

  constructor(
    bench: Pick<Bench, 'tell' | 'now'>,
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

  /** The client asks for this znode, whose number the servers append. */
  asked(path: string, client: Pick<SimClient, 'connectedAt'>): void {
    this.#asked.set(path, { order: this.#asked.size, at: this.#bench.now(), client });
  }

  /** Returns the acquire that the new znode names. */
  created(path: string): string | undefined {
    const folder = path.slice(0, path.lastIndexOf('/'));
    const znode = this.#read(path);
    // An acquire of a multi-lock has the default data.
    if (!this.#folders.has(folder) || !znode?.data?.includes('#')) return undefined;
    const call = `${znode.data.toString()} at ${folder}`;
    const session = znode.ephemeralOwner;
    const { order = 0, at = 0, client } = this.#asked.get(path.slice(0, -sequenceDigits)) ?? {};
    const before = this.#byCall.get(call);
    if (before && order < before.order) return undefined;
    this.#byCall.set(call, { path, session, order, isLate: (client?.connectedAt.get(session) ?? 0) > at });
    if (before?.session === session && !before.isLate && !this.#taken.has(before.path))
      this.#bench.tell('place', `the acquire of ${call} left its place ${before.path} for ${path}`);
    return call;
  }
}

interface Request {
  readonly order: number;
  readonly at: number;
  readonly client: Pick<SimClient, 'connectedAt'>;
}

interface Place {
  readonly path: string;
  readonly session: bigint;
  readonly order: number;
  /** Carried out after its client had connected again. */
  readonly isLate: boolean;
}

const sequenceDigits = 10;
