import { RequestFailedError } from '../internals/lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getData } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import type { Deadline } from '../internals/deadline.js';
import { reconnected } from '../internals/reconnected.js';

/** A number that programs share by a znode, as Curator's SharedCount writes it: a signed 32-bit integer, big-endian. */
export class SharedCount {
  readonly #path: string;
  readonly #root: string;

  constructor(client: LockClient, path: string) {
    this.#path = path;
    this.#root = `${client.chroot}${path}`;
  }

  /** What it is now; undefined when the session has ended instead, or its connection where the deadline may not wait. */
  async read(session: Session, deadline: Deadline): Promise<number | undefined> {
    while (await reconnected(session, deadline)) {
      try {
        return this.#parse((await session.request(getData(this.#root, false))).value.data);
      } catch (error) {
        if (!(error instanceof ZooKeeperError && error.isRetryable)) throw this.#explained(error);
        if (!deadline.mayWait) return undefined;
      }
    }
    return undefined;
  }

  /** Calls `changed` once when it is not `known` any more, or may be; returns what takes the watch back. */
  watch(session: Session, known: number, changed: () => void): () => void {
    session.watch(this.#root, changed);
    session.request(getData(this.#root, true)).then(
      ({ value }) => {
        if (value.data.length !== 4 || value.data.readInt32BE() !== known) changed();
      },
      // Whoever reads it again finds out why.
      () => changed(),
    );
    return () => session.unwatch(this.#root, changed, { forget: true });
  }

  #parse(data: Buffer): number {
    if (data.length === 4) return data.readInt32BE();
    throw new TypeError(`Expected 4 bytes, a big-endian integer as Curator's SharedCount writes it, got ${data.length} bytes`);
  }

  #explained(error: unknown): unknown {
    return error instanceof Error ? new RequestFailedError(`The shared count ${this.#path} cannot be read`, error) : error;
  }
}
