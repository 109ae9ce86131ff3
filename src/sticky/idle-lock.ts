import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import type { LockHost } from '../client/lock-host.js';
import { getData } from '../zookeeper/wire/operations.js';
import { join } from '../zookeeper/wire/path.js';
import { ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { hasMarkedUuid } from '../driver/names.js';
import type { Deadline } from '../support/deadline.js';
import { lockDeadline } from '../internals/lock-deadline.js';
import type { Grant } from '../internals/grant.js';
import { isMarkedIdle } from '../internals/znode/znode-data.js';
import type { AcquireOptions, LockInternals, Tried } from '../internals/lock-internals.js';

/** A lock that another process may keep without using it. A single try asks that process for it. */
export class IdleLock {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #internals: LockInternals;

  constructor(host: LockHost, path: string, internals: LockInternals) {
    this.#host = host;
    this.#path = path;
    this.#internals = internals;
  }

  /** Like {@link LockInternals.acquire}, for a deadline that does not allow waiting. */
  async tryAcquire(deadline: Deadline, options: AcquireOptions): Promise<Grant | undefined> {
    const tried = await this.#internals.tryAcquire(deadline, options);
    if (tried.is === 'granted') return tried.grant;
    return deadline.limit(
      async () => ((await this.#isKeptIdle(tried)) ? this.#ask(options) : undefined),
      (grant) => void grant?.release(),
    );
  }

  /** True if the lock has one znode, and the data of that znode say that it is idle. */
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

  /** Queues up for a moment. The process that keeps the idle lock hands it over as soon as it sees the new znode. */
  async #ask(options: AcquireOptions): Promise<Grant | undefined> {
    const deadline = lockDeadline(this.#host, this.#path, { timeoutMs: askMs });
    try {
      return await this.#internals.acquire(deadline, options);
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    } finally {
      deadline.dispose();
    }
  }
}

/** How long a single try waits for a sticky lock that is marked as idle. */
const askMs = 1_000;
