import type { LockClient } from '../client/lock-client.js';
import { RequestFailedError } from '../internals/lock-errors.js';
import { refused } from '../internals/refusal.js';
import { getData } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { watchZnode } from '../zookeeper/watch-znode.js';
import { isZooKeeperError } from '../zookeeper/zookeeper-error.js';
import type { Deadline } from '../support/deadline.js';

/** A number that programs share by a znode, as Curator's SharedCount writes it: a signed 32-bit integer, big-endian. */
export class SharedCount {
  readonly #client: LockClient;
  readonly #path: string;

  constructor(client: LockClient, path: string) {
    this.#client = client;
    this.#path = path;
  }

  /**
   * What it is now; undefined when the session has ended instead, or its connection where the deadline may not wait.
   */
  async read(session: Session, deadline: Deadline): Promise<number | undefined> {
    const read = await session
      .ask(getData(this.#path, false), deadline)
      .catch((error: unknown) => this.#refused(error));
    return read && this.#parse(read.data);
  }

  /** Calls `changed` once when it is not `known` any more, or may be; returns what takes the watch back. */
  watch(session: Session, known: number, changed: () => void): () => void {
    const found = ({ data }: { readonly data: Buffer }): void => {
      if (data.length !== 4 || data.readInt32BE() !== known) changed();
    };
    // After a refusal, too: the next read finds out why.
    return watchZnode(session, this.#path, 'data', { found, told: changed, lost: changed, failed: changed });
  }

  #parse(data: Buffer): number {
    if (data.length === 4) return data.readInt32BE();
    throw new RequestFailedError(
      this.#unreadable,
      new TypeError(
        `Expected 4 bytes, a big-endian integer as Curator's SharedCount writes it, got ${data.length} bytes`,
      ),
    );
  }

  #refused(error: unknown): never {
    if (isZooKeeperError(error, 'NO_NODE'))
      throw new RequestFailedError(
        this.#unreadable,
        error,
        'it must be there for as long as the semaphore is used. Create it with 4 bytes, a big-endian integer',
      );
    return refused(this.#client, this.#unreadable)(error);
  }

  get #unreadable(): string {
    return `The shared count ${this.#path} cannot be read`;
  }
}
