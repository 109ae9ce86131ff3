import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  type LockClient,
  type PartHold,
} from '../../../src/index.ts';

/** A hold. A hold of several locks has no znode and no token. */
export interface AnyHold extends PartHold {
  readonly path?: string;
  readonly fencingToken?: bigint;
}

export interface Lock {
  acquire(options?: { timeoutMs?: number }): Promise<AnyHold>;
}

/** The locks of one process, one object each, as in JavaPeer.java. */
export class NodeLocks {
  readonly #client: LockClient;
  readonly #locks = new Map<string, Lock>();

  constructor(client: LockClient) {
    this.#client = client;
  }

  of(kind: string, path: string): Lock {
    const key = `${kind} ${path}`;
    const lock = this.#locks.get(key) ?? this.#new(kind, path);
    this.#locks.set(key, lock);
    return lock;
  }

  #new(kind: string, path: string): Lock {
    const [name, leases] = kind.split(':');
    switch (name) {
      case 'mutex':
        return new InterProcessMutex(this.#client, path);
      case 'sticky':
        return new InterProcessMutex(this.#client, path, { sticky: { idleMs: 60_000 } });
      case 'read':
        return new InterProcessReadWriteLock(this.#client, path).readLock;
      case 'write':
        return new InterProcessReadWriteLock(this.#client, path).writeLock;
      case 'semaphore':
        return new InterProcessSemaphore(this.#client, path, { maxLeases: Number(leases) });
      case 'semaphoreMutex':
        return new InterProcessSemaphoreMutex(this.#client, path);
      case 'latch':
      case 'selector': {
        const election = new LeaderElection(this.#client, path, { id: `node-${process.pid}`, protocol: name });
        return { acquire: (options) => election.campaign(options) };
      }
      case 'multi':
        return new InterProcessMultiLock(
          ['a', 'b'].map((part) => new InterProcessMutex(this.#client, `${path}/${part}`)),
        );
      default:
        throw new Error(`No lock of kind ${kind}`);
    }
  }
}
