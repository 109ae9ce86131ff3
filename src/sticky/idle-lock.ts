import { LockTimeoutError } from '../internals/lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getData } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { hasMarkedUuid } from '../driver/names.js';
import type { Deadline } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import type { Grant } from '../internals/grant.js';
import { isMarkedIdle } from '../internals/idle-mark.js';
import type { LockInternals, Tried } from '../internals/lock-internals.js';

/** A lock that another process may keep without using it: a try asks that process for it. */
export class IdleLock {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #internals: LockInternals;

  constructor(client: LockClient, path: string, internals: LockInternals) {
    this.#client = client;
    this.#path = path;
    this.#internals = internals;
  }

  /** As {@link LockInternals.acquire}, for a deadline that may not wait. */
  async tryAcquire(deadline: Deadline, data?: Uint8Array): Promise<Grant | undefined> {
    const tried = await this.#internals.tryAcquire(deadline, { data });
    if (tried.is === 'granted') return tried.grant;
    return deadline.limit(
      async () => ((await this.#isKeptIdle(tried)) ? this.#ask(data) : undefined),
      (grant) => void grant?.release(),
    );
  }

  /** One znode alone is there, and its data say that it is idle. */
  async #isKeptIdle({ session, view }: Tried & { is: 'taken' }): Promise<boolean> {
    const name = view?.only;
    if (session === undefined || name === undefined || !hasMarkedUuid(name)) return false;
    try {
      return isMarkedIdle((await session.request(getData(join(this.#path, name), false))).value.data);
    } catch (error) {
      if (error instanceof ZooKeeperError) return false; // gone, or not readable for this client
      throw error;
    }
  }

  /** Queues up for a moment: the process that keeps an idle lock gives it away as soon as it hears of the new znode. */
  async #ask(data: Uint8Array | undefined): Promise<Grant | undefined> {
    const deadline = lockDeadline(this.#client, this.#path, { timeoutMs: askMs });
    try {
      return await this.#internals.acquire(deadline, { data });
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    } finally {
      deadline.dispose();
    }
  }
}

/** How long a try waits for a sticky lock that says it is idle. */
const askMs = 1_000;
