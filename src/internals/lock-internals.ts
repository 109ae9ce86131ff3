import type { Deadline } from '../support/deadline.js';
import { reached } from '../support/reached.js';
import type { Session } from '../zookeeper/session/session.js';
import type { Grant } from './grant.js';
import { grantWithoutList } from './granting.js';
import type { QueueView } from './queue-view.js';
import { Retries } from './retries.js';
import { Steps, type JoinOptions } from './steps.js';
import { untilChange, type Attempt, type Step, type Waiting } from './waiting.js';
import type { LockNode, WakeReason } from './znode/lock-node.js';
import type { InternalLock } from './znode-queue.js';

/**
 * The wait for a lock: join the queue, look at it, wait for a change, and look again, until the znode is granted. A
 * znode that is not granted is deleted in the background.
 */
export class LockInternals {
  readonly #lock: InternalLock;
  readonly steps: Steps;

  constructor(lock: InternalLock) {
    this.#lock = lock;
    this.steps = new Steps(lock);
  }

  /**
   * Resolves with the grant, or with undefined if the deadline may not wait and another znode is before this one.
   * Settles as soon as the deadline expires. Steps that have begun by then are cleaned up in the background, and a
   * grant that arrives later is released.
   */
  acquire(deadline: Deadline, options: QueueOptions = noOptions): Promise<Grant | undefined> {
    if (deadline.mayWait) return this.#queueUp(deadline, options);
    return this.tryAcquire(deadline, options).then((tried) => (tried.is === 'granted' ? tried.grant : undefined));
  }

  async #queueUp(deadline: Deadline, { data, heldForWriting, grantOf }: QueueOptions): Promise<Grant> {
    const { sessions } = this.#lock.host;
    let retries: Retries | undefined;
    for (;;) {
      deadline.check();
      const { current } = sessions;
      // Nearly always there is a connection. Then no promise is needed.
      const session = current.isConnected ? current : await sessions.whenConnected(deadline);
      // Before anything is made for the attempt, because twenty thousand acquires may wait to begin.
      const downgradeOf = heldForWriting?.();
      const admitted = session.isConnected && !downgradeOf ? session.admission.enter(deadline) : undefined;
      if (admitted) {
        await admitted;
        if (session !== sessions.current || heldForWriting?.()) continue;
      }
      const attempt = this.steps.newAttempt(session, deadline, grantOf);
      let step = await this.#joinInTime(attempt, data || downgradeOf ? { data, downgradeOf } : noOptions);
      while (step.is === 'waiting') {
        try {
          const reason = await untilChange(attempt, step);
          step = grantWithoutList(attempt, step, reason) ?? (await this.#lookInTime(attempt, step, reason));
        } catch (error) {
          // Also reached when the deadline expires between the two calls. Then no later step runs, and nothing else
          // deletes the znode.
          throw this.steps.failed(attempt, error, step);
        }
      }
      if (step.is === 'granted') return step.grant;
      if (step.is === 'absent')
        await (retries ??= new Retries(this.#lock.host)).pauseAfterDeletion(session, this.#lock.path, deadline);
    }
  }

  /** As `acquire`, for a deadline that may not wait: reads the queue before it creates a znode. */
  async tryAcquire(deadline: Deadline, options: QueueOptions = noOptions): Promise<Tried> {
    const { data, heldForWriting, grantOf } = options;
    let retries: Retries | undefined;
    for (;;) {
      const session = this.#lock.host.sessions.current;
      deadline.check();
      if (!session.isConnected) return taken;
      const downgradeOf = heldForWriting?.();
      if (!downgradeOf) {
        const view = await deadline.limit(() => this.steps.lookBefore(session), ignore);
        if (view !== 'free') {
          if (view) deadline.progress = 'behind-others';
          return { is: 'taken', session, view };
        }
      }
      const step = await this.#joinInTime(this.steps.newAttempt(session, deadline, grantOf), { data, downgradeOf });
      if (step.is === 'granted') return step;
      if (step.is === 'absent')
        await (retries ??= new Retries(this.#lock.host)).pauseAfterDeletion(session, this.#lock.path, deadline);
      else if (step.is !== 'over') return taken;
    }
  }

  #joinInTime(attempt: Attempt, options: JoinOptions): Promise<Step> {
    return attempt.deadline.limit(
      () => this.steps.join(attempt, options),
      (late) => this.#late(attempt, late),
    );
  }

  #lookInTime(attempt: Attempt, waiting: Waiting, reason: WakeReason): Promise<Step> {
    return attempt.deadline.limit(
      () => this.steps.look(attempt, waiting, reason),
      (late) => this.#late(attempt, late),
    );
  }

  /** The step finished after the deadline: release the grant, or delete the znode. */
  #late(attempt: Attempt, step: Step): void {
    if (step.is === 'granted') {
      reached('granted after the deadline');
      void step.grant.release();
    } else if (step.is === 'waiting') void this.steps.delete(attempt);
  }
}

/** The options of one acquire, in which it differs from other acquires of the same lock. */
export interface QueueOptions {
  /** The data to write into the znode instead of the lock's default data. */
  readonly data?: Uint8Array | undefined;
  /**
   * For a read lock: returns the write lock that the same owner holds now, which grants the read lock at once. An error
   * that this function throws rejects the acquire.
   */
  readonly heldForWriting?: (() => Grant | undefined) | undefined;
  /** Makes the grant of the znode, for a lock that is not given up as Curator gives it up. */
  readonly grantOf?: ((node: LockNode) => Grant) | undefined;
}

/** The outcome of one try. */
export type Tried =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** The view is undefined if the lock was taken at the same moment, or if no server answered. */
  | { readonly is: 'taken'; readonly session?: Session; readonly view?: QueueView | undefined };

const taken: Tried = { is: 'taken' };

const noOptions: QueueOptions & JoinOptions = {};

function ignore(): void {
  // A view that arrives after the deadline is not needed.
}
