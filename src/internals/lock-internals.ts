import type { RequestFailedError } from './lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import { Attempt, type AttemptOptions } from './attempt.js';
import type { Grant } from './grant.js';
import type { WakeReason } from './lock-node.js';
import type { QueueView } from './queue-view.js';
import { ZnodeQueue, type LockInternalsOptions } from './znode-queue.js';
import type { Deadline } from '../support/deadline.js';
import { vanished } from './refusal.js';
import { Retries } from './retries.js';

/** The wait for a lock: queue up, watch the predecessor, clean up. */
export class LockInternals {
  readonly #queue: ZnodeQueue;

  constructor(client: LockClient, path: string, options: LockInternalsOptions) {
    this.#queue = new ZnodeQueue(client, path, options);
  }

  /**
   * A grant; undefined where the deadline may not wait and another znode is before it. Settles the moment the deadline
   * expires; what was begun by
   * then is cleaned up in the background, and a grant that comes later is released.
   */
  acquire(deadline: Deadline, options: AcquireOptions = usual): Promise<Grant | undefined> {
    if (deadline.mayWait) return this.#queueUp(deadline, options);
    return this.tryAcquire(deadline, options).then((tried) => (tried.is === 'granted' ? tried.grant : undefined));
  }

  /** As `acquire`, for a deadline that may not wait: looks before it writes. */
  async tryAcquire(deadline: Deadline, options: AcquireOptions = usual): Promise<Tried> {
    const { client } = this.#queue;
    const { data, heldForWriting } = options;
    let retries: Retries | undefined;
    for (;;) {
      const { session } = client;
      deadline.check();
      if (!session.isConnected) return taken;
      const downgradeOf = heldForWriting?.();
      if (!downgradeOf) {
        const view = await deadline.limit(() => this.#look(session), ignore);
        if (view !== 'free') return { is: 'taken', session, view };
      }
      const step = await new Attempt(this.#queue, session, deadline).beginInTime({ data, downgradeOf });
      if (step.is === 'granted') return step;
      if (step.is === 'absent') await (retries ??= new Retries(client)).pause(deadline, this.absentError());
      else if (step.is !== 'over') return taken;
    }
  }

  /** One try in one session, for a caller that waits in its own way. */
  newAttempt(session: Session, deadline: Deadline): Attempt {
    return new Attempt(this.#queue, session, deadline);
  }

  /** The error of an acquire that does not try again after its znode vanished. */
  absentError(): RequestFailedError {
    return vanished(this.#queue.path);
  }

  async #queueUp(deadline: Deadline, { data, heldForWriting }: AcquireOptions): Promise<Grant> {
    let retries: Retries | undefined;
    for (;;) {
      const { client } = this.#queue;
      const session = await client.whenConnected(deadline);
      const downgradeOf = heldForWriting?.();
      const attempt = new Attempt(this.#queue, session, deadline);
      let step = await attempt.beginInTime(data || downgradeOf ? { data, downgradeOf } : usual);
      while (step.is === 'waiting') {
        try {
          const reason: WakeReason = await attempt.waitForPredecessor(step);
          step = attempt.tryGrantWithoutList(step, reason) ?? (await attempt.goOnInTime(step, reason));
        } catch (error) {
          // Also when the deadline ends between the two: then it never goes on, and nothing else deletes its znode.
          throw attempt.failed(error, step);
        }
      }
      if (step.is === 'granted') return step.grant;
      if (step.is === 'absent') await (retries ??= new Retries(client)).pause(deadline, this.absentError());
    }
  }

  /** The queue where the lock is not free; undefined where no server could say. */
  async #look(session: Session): Promise<'free' | QueueView | undefined> {
    session.catchUp(this.#queue.path);
    try {
      const view = await this.#queue.read(session);
      return view?.isFree ? 'free' : view;
    } catch (error) {
      throw this.#queue.explained(error);
    }
  }
}

/** How one acquire differs from others of its lock. */
export interface AcquireOptions {
  /** What is written into the znode instead of the lock's usual data. */
  readonly data?: Uint8Array | undefined;
  /**
   * For a read lock: the write lock that the same owner holds now, which lets it in at once. May throw what the acquire
   * rejects with.
   */
  readonly heldForWriting?: (() => Grant | undefined) | undefined;
}

/** The outcome of one try. */
export type Tried =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** The view is undefined where the lock was taken in the same moment, or no server could say. */
  | { readonly is: 'taken'; readonly session?: Session; readonly view?: QueueView | undefined };

const taken: Tried = { is: 'taken' };

const usual: AcquireOptions & AttemptOptions = {};

function ignore(): void {
  // What was seen too late is of no use.
}
