import type { CheckedClientOptions } from '../client/options/client-options.js';
import { RequestFailedError } from '../client/report/client-errors.js';
import { refused } from '../client/report/refusal.js';
import { getData } from '../zookeeper/wire/operations.js';
import type { Session } from '../zookeeper/session/session.js';
import { watchZnode } from '../zookeeper/session/watches.js';
import { isZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import type { Clock } from '../support/clock.js';
import type { Deadline } from '../support/deadline.js';

/**
 * A number that programs share through a znode, in the form of Curator's SharedCount: a signed 32-bit integer,
 * big-endian.
 */
export class SharedCount {
  readonly #options: CheckedClientOptions;
  readonly #path: string;

  constructor(options: CheckedClientOptions, path: string) {
    this.#options = options;
    this.#path = path;
  }

  /**
   * Reads the number. Resolves with undefined when the session ended instead, or when its connection ended and the
   * deadline does not allow waiting.
   */
  async read(session: Session, deadline: Deadline): Promise<number | undefined> {
    const read = await session
      .ask(getData(this.#path, false), deadline)
      .catch((error: unknown) => this.#refused(error));
    return read && this.#parse(read.data);
  }

  /**
   * Calls `changed` once when the number is, or may be, different from `known`. Asks again after each session timeout,
   * because servers send no event to a client that may not read the znode any more (CVE-2024-23944). Returns a function
   * that ends this.
   */
  watch(
    session: Pick<Session, 'watches' | 'timeoutMs'>,
    known: number,
    clock: Pick<Clock, 'after'>,
    changed: () => void,
  ): () => void {
    const found = ({ data }: { readonly data: Buffer }): void => {
      if (data.length !== 4 || data.readInt32BE() !== known) changed();
    };
    // Called after a refusal too: the next read reports the reason.
    const listener = { found, told: changed, lost: changed, failed: changed };
    let stop = (): void => undefined;
    const ask = (): void => {
      const stopLast = stop;
      const unwatch = watchZnode(session, this.#path, 'data', listener);
      const cancel = clock.after(session.timeoutMs, ask);
      stop = () => {
        cancel();
        unwatch();
      };
      // Behind the new one, so that the watch on the servers stays.
      stopLast();
    };
    ask();
    return () => stop();
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
        'it must exist while the semaphore is used. Create it with 4 bytes, a big-endian integer',
      );
    return refused(this.#options, this.#unreadable)(error);
  }

  get #unreadable(): string {
    return `The shared count ${this.#path} cannot be read`;
  }
}
