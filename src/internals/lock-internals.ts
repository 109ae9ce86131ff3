import { LockTimeoutError, type RequestFailedError } from './lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getData } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { hasMarkedUuid, SEQUENCE_MAX } from '../driver/names.js';
import { Attempt, type Outcome, type Unusual } from './attempt.js';
import type { Grant } from './grant.js';
import { isMarkedIdle } from './idle-mark.js';
import { listChildren } from './listing.js';
import type { WakeReason } from './lock-node.js';
import { ZnodeQueue, type LockInternalsOptions } from './znode-queue.js';
import { Deadline } from './deadline.js';
import { connectedSession } from './reconnected.js';
import { Retries } from './retries.js';

/** The wait for a lock: queue up, watch the predecessor, clean up. */
export class LockInternals {
  readonly #queue: ZnodeQueue;

  constructor(client: LockClient, path: string, options: LockInternalsOptions) {
    this.#queue = new ZnodeQueue(client, path, options);
  }

  /**
   * A grant; undefined where the deadline may not wait and somebody is before us. Settles the moment the deadline expires; what was begun by
   * then is cleaned up in the background, and a grant that comes later is released.
   *
   * @param beside what the same owner holds now in the same queue, if that lets it in at once; may throw what the acquire rejects with
   * @param data what is written into the znode instead of the usual
   */
  async acquire(deadline: Deadline, beside?: () => Grant | undefined, data?: Uint8Array): Promise<Grant | undefined> {
    let retries: Retries | undefined;
    for (;;) {
      const session = await this.#connectedSession(deadline);
      if (session === undefined) return undefined;
      const held = beside?.();
      if (!held && !deadline.mayWait) {
        const look = await this.#lookInTime(session, deadline);
        if (look === 'taken') return undefined;
        if (look === 'idle') return this.#askInTime(deadline, data);
      }

      const attempt = new Attempt(this.#queue, session, deadline, held || data ? { downgradeOf: held, data } : usual);
      let step = await attempt.beginInTime();
      while (step.is === 'waiting') {
        try {
          const reason: WakeReason = await attempt.waitForPredecessor(step);
          step = attempt.tryGrantWithoutList(step, reason) ?? (await attempt.goOnInTime(step, reason));
        } catch (error) {
          // Also when the deadline ends between the two: then it never goes on, and nobody else deletes its znode.
          throw attempt.failed(error);
        }
      }
      if (step.is === 'granted') return step.grant;
      if (step.is === 'taken') return undefined;
      if (step.is === 'vanished') await (retries ??= new Retries(this.#queue.client, deadline.startedAt)).pause(deadline, this.vanished());
    }
  }

  /** One try in one session; a znode that is not granted is deleted in the background. */
  async attempt(session: Session, deadline: Deadline, unusual: Unusual): Promise<Outcome> {
    const attempt = new Attempt(this.#queue, session, deadline, unusual);
    let step = await attempt.begin();
    while (step.is === 'waiting') {
      let reason: WakeReason;
      try {
        reason = await attempt.waitForPredecessor(step);
      } catch (error) {
        throw attempt.failed(error);
      }
      step = await attempt.goOn(step, reason);
    }
    return step;
  }

  /** The error of who does not try again after its znode vanished. */
  vanished(): RequestFailedError {
    return this.#queue.requestFailed(new ZooKeeperError(-101, 'getChildren2', this.#queue.path));
  }

  #lookInTime(session: Session, deadline: Deadline): Promise<'free' | 'taken' | 'idle'> {
    return deadline.limit(() => this.#look(session), ignore);
  }

  #askInTime(deadline: Deadline, data: Uint8Array | undefined): Promise<Grant | undefined> {
    return deadline.limit(() => this.#ask(data), (grant) => void grant?.release());
  }

  /** tryAcquire looks before it writes. `idle`: somebody keeps a sticky lock, and uses it no more. */
  async #look(session: Session): Promise<'free' | 'taken' | 'idle'> {
    session.catchUp(this.#queue.root);
    try {
      const { sorted, foreign } = (await listChildren(session, this.#queue.root)).queue(this.#queue.options.driver);
      this.#queue.refuseForeign(foreign);
      const last = `${this.#queue.options.driver.lockName}${SEQUENCE_MAX}`;
      if (this.#queue.options.driver.decide(this.#queue.options.driver.sort([...sorted, last]), last).held) return 'free';
      return sorted.length === 1 && (await this.#isIdle(session, sorted[0] ?? '')) ? 'idle' : 'taken';
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) return 'free';
      if (error instanceof ZooKeeperError && error.isRetryable) return 'taken';
      throw this.#queue.explained(error);
    }
  }

  async #isIdle(session: Session, name: string): Promise<boolean> {
    if (!hasMarkedUuid(name)) return false;
    try {
      return isMarkedIdle((await session.request(getData(join(this.#queue.root, name), false))).value.data);
    } catch (error) {
      if (error instanceof ZooKeeperError) return false; // gone, or not ours to read
      throw error;
    }
  }

  /** Queues up for a moment: who keeps an idle lock gives it away as soon as it hears of us. */
  async #ask(data: Uint8Array | undefined): Promise<Grant | undefined> {
    const deadline = new Deadline(this.#queue.client, this.#queue.path, { timeoutMs: askMs });
    try {
      return await this.acquire(deadline, undefined, data);
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    } finally {
      deadline.dispose();
    }
  }

  async #connectedSession(deadline: Deadline): Promise<Session | undefined> {
    if (!deadline.mayWait && !this.#queue.client.session.isConnected) {
      deadline.check();
      return undefined;
    }
    return connectedSession(this.#queue.client, deadline);
  }
}

/** How long a tryAcquire waits for a sticky lock that says it is idle. */
const askMs = 1_000;

const usual: Unusual = {};

function ignore(): void {
  // What failed here fails again where it is awaited; and what was seen too late is of no use.
}
