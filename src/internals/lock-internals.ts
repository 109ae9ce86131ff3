import type { LockHost } from '../client/lock-host.js';
import type { Session } from '../zookeeper/session.js';
import { Attempt, type AttemptOptions } from './attempt.js';
import type { Grant } from './grant.js';
import type { WakeReason } from './lock-node.js';
import type { QueueView } from './queue-view.js';
import { ZnodeQueue, type LockInternalsOptions } from './znode-queue.js';
import type { Deadline } from '../support/deadline.js';
import { znodeDeleted } from './refusal.js';
import { Retries } from './retries.js';

/** The wait for a lock: queue up, watch the predecessor, clean up. */
export class LockInternals {
  readonly #queue: ZnodeQueue;

  constructor(host: LockHost, path: string, options: LockInternalsOptions) {
    this.#queue = new ZnodeQueue(host, path, options);
  }

  /**
   * Resolves with the grant, or with undefined if the deadline may not wait and another znode is before this one.
   * Settles as soon as the deadline expires. Steps that have begun by then are cleaned up in the background, and a
   * grant that arrives later is released.
   */
  acquire(deadline: Deadline, options: AcquireOptions = noOptions): Promise<Grant | undefined> {
    if (deadline.mayWait) return this.#queueUp(deadline, options);
    return this.tryAcquire(deadline, options).then((tried) => (tried.is === 'granted' ? tried.grant : undefined));
  }

  /** As `acquire`, for a deadline that may not wait: reads the queue before it creates a znode. */
  async tryAcquire(deadline: Deadline, options: AcquireOptions = noOptions): Promise<Tried> {
    const { host } = this.#queue;
    const { data, heldForWriting } = options;
    let retries: Retries | undefined;
    for (;;) {
      const session = host.sessions.current;
      deadline.check();
      if (!session.isConnected) return taken;
      const downgradeOf = heldForWriting?.();
      if (!downgradeOf) {
        const view = await deadline.limit(() => this.#look(session), ignore);
        if (view !== 'free') {
          if (view) deadline.progress = 'behind-others';
          return { is: 'taken', session, view };
        }
      }
      const step = await new Attempt(this.#queue, session, deadline).beginInTime({ data, downgradeOf });
      if (step.is === 'granted') return step;
      if (step.is === 'absent') await (retries ??= new Retries(host)).pause(deadline, znodeDeleted(this.#queue.path));
      else if (step.is !== 'over') return taken;
    }
  }

  /** One attempt in one session, for a caller that implements its own wait. */
  newAttempt(session: Session, deadline: Deadline): Attempt {
    return new Attempt(this.#queue, session, deadline);
  }

  async #queueUp(deadline: Deadline, { data, heldForWriting }: AcquireOptions): Promise<Grant> {
    let retries: Retries | undefined;
    for (;;) {
      const { host } = this.#queue;
      const { sessions } = host;
      deadline.check();
      // Nearly always there is a connection. Then no promise is needed.
      const session = sessions.current.isConnected ? sessions.current : await sessions.whenConnected(deadline);
      // Before anything is made for the attempt, because twenty thousand acquires may wait to begin.
      const downgradeOf = heldForWriting?.();
      const admitted = session.isConnected && !downgradeOf ? session.admission.enter(deadline) : undefined;
      if (admitted) {
        await admitted;
        if (session !== sessions.current || heldForWriting?.()) continue;
      }
      const attempt = new Attempt(this.#queue, session, deadline);
      let step = await attempt.beginInTime(data || downgradeOf ? { data, downgradeOf } : noOptions);
      while (step.is === 'waiting') {
        try {
          const reason: WakeReason = await attempt.waitForPredecessor(step);
          step = attempt.tryGrantWithoutList(step, reason) ?? (await attempt.goOnInTime(step, reason));
        } catch (error) {
          // Also reached when the deadline expires between the two calls. Then no later step runs, and nothing else
          // deletes the znode.
          throw attempt.failed(error, step);
        }
      }
      if (step.is === 'granted') return step.grant;
      if (step.is === 'absent') await (retries ??= new Retries(host)).pause(deadline, znodeDeleted(this.#queue.path));
    }
  }

  /** Returns 'free', or the view of a queue that is not free, or undefined if no server answered. */
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

/** The options of one acquire, in which it differs from other acquires of the same lock. */
export interface AcquireOptions {
  /** The data to write into the znode instead of the lock's default data. */
  readonly data?: Uint8Array | undefined;
  /**
   * For a read lock: returns the write lock that the same owner holds now, which grants the read lock at once. An error
   * that this function throws rejects the acquire.
   */
  readonly heldForWriting?: (() => Grant | undefined) | undefined;
}

/** The outcome of one try. */
export type Tried =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** The view is undefined if the lock was taken at the same moment, or if no server answered. */
  | { readonly is: 'taken'; readonly session?: Session; readonly view?: QueueView | undefined };

const taken: Tried = { is: 'taken' };

const noOptions: AcquireOptions & AttemptOptions = {};

function ignore(): void {
  // A view that arrives after the deadline is not needed.
}
