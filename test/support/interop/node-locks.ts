import { InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphore, type Hold, type LockClient } from '../../../src/index.ts';

export interface Lock {
  acquire(options?: { timeoutMs?: number }): Promise<Hold>;
}

/** The locks of one process, one instance each, as JavaPeer.java has them. */
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
      default:
        throw new Error(`No lock of kind ${kind}`);
    }
  }
}
