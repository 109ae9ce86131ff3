import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import type { Deadline } from '../support/deadline.js';
import { reached } from '../support/reached.js';
import type { Session } from '../zookeeper/session/session.js';
import { join } from '../zookeeper/wire/path.js';
import { isRetryable, ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { Grant } from './grant.js';
import { grant, grantNow, isFirst } from './granting.js';
import type { Queued, QueueView, Standing } from './queue-view.js';
import { requestFailed } from '../client/report/refusal.js';
import type { Attempt, Step, Waiting } from './waiting.js';
import { nodesOf, type WakeReason } from './znode/lock-node.js';
import { MisfitError } from './znode/own-creation.js';
import { ZnodeQueue, type Behind, type InternalLock } from './znode-queue.js';

/**
 * The steps of an attempt: it joins the queue of a lock, looks at the queue again after each change, and is granted the
 * lock or gives up. The caller decides how long to wait between them. A znode whose attempt is over is deleted in the
 * background.
 */
export class Steps {
  readonly #lock: InternalLock;
  readonly #queue: ZnodeQueue;

  constructor(lock: InternalLock) {
    this.#lock = lock;
    this.#queue = new ZnodeQueue(lock);
  }

  /** An attempt in one session. */
  newAttempt(session: Session, deadline: Deadline, grantOf?: Attempt['grantOf']): Attempt {
    return { node: this.#queue.newNode(session), deadline, grantOf, predecessors: undefined };
  }

  /**
   * Reads the queue before a znode is created. Returns 'free', or the view of a queue that is not free, or undefined if
   * no server answered.
   */
  async lookBefore(session: Session): Promise<'free' | QueueView | undefined> {
    session.catchUp(this.#lock.path);
    try {
      const view = await this.#queue.read(session);
      return view?.isFree ? 'free' : view;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** Creates the znode, and finds its place in the queue. */
  async join(attempt: Attempt, { data = this.#lock.data(), downgradeOf }: JoinOptions): Promise<Step> {
    const { node, deadline } = attempt;
    deadline.progress = 'asking';
    try {
      if (downgradeOf) return this.#kept(attempt, await this.#downgrade(attempt, downgradeOf, data));
      const joined = await this.#queue.join(node, deadline, data);
      switch (joined.is) {
        case 'not created':
          return this.#kept(attempt, { is: 'over' });
        case 'contradicted':
          return this.#kept(attempt, { is: 'absent' });
        case 'behind holder':
          reached('right behind a holder that has released already');
          return grantNow(attempt) ?? this.#kept(attempt, await grant(attempt));
        case 'right behind':
          deadline.progress = 'behind-others';
          this.#tellQueued(attempt, undefined, undefined);
          return { is: 'waiting', predecessor: joined.before, isAdjacent: true, isNext: false, position: undefined };
        case 'created':
          return this.#kept(attempt, await this.#place(attempt, { view: joined.view, wasQueued: false }));
      }
    } catch (error) {
      throw this.failed(attempt, error);
    }
  }

  /** Looks at the queue after the waiter was woken. */
  async look(attempt: Attempt, waiting: Waiting, reason: WakeReason): Promise<Step> {
    const { node, deadline, predecessors } = attempt;
    try {
      // The znode may be first or second now. In both cases the session must be proven, and the queue is read behind
      // that proof.
      if (reason !== 'recheck' || predecessors?.isAnyGone) freshen(attempt);
      if (reason !== 'recheck') deadline.progress = 'asking';
      if (isFirst(attempt, waiting, reason)) return this.#kept(attempt, await grant(attempt));
      // Sent in one flush with the list, because a second waiter is granted without another list.
      if (predecessors?.isNextSecond) node.watch.plant();
      const behind = predecessors?.wasListOld ? 'sync' : 'nothing';
      return this.#kept(attempt, await this.#place(attempt, { wasQueued: true, behind }));
    } catch (error) {
      throw this.failed(attempt, error);
    }
  }

  /** Deletes the znode. @returns the error in the words of the lock */
  failed(attempt: Attempt, error: unknown, step?: Step): unknown {
    const known =
      error instanceof LockTimeoutError ? error.with({ position: positionAt(attempt, step) }) : this.#explained(error);
    void this.delete(attempt);
    return known;
  }

  /** Deletes the znode in the background. Resolves when the znode is gone, or when its session has ended. */
  delete(attempt: Attempt): Promise<void> {
    attempt.predecessors?.close();
    return attempt.node.delete();
  }

  #kept(attempt: Attempt, step: Step): Step {
    if (step.is !== 'granted' && step.is !== 'waiting') void this.delete(attempt);
    return step;
  }

  /**
   * The create alone decides. Its transaction has checked the held znode, so no other znode can be before the new one.
   */
  async #downgrade(attempt: Attempt, held: Grant, data: Uint8Array): Promise<Step> {
    const { node, deadline } = attempt;
    try {
      if (!(await node.createAtPlaceOf(held.node, data))) return { is: 'over' };
    } catch (error) {
      if (error instanceof MisfitError) return { is: 'absent' };
      if (!isRetryable(error)) throw error;
      reached('downgrade: the answer was lost');
      if (!(await this.#queue.findAgain(node, deadline))) return { is: 'over' };
    }
    return grant(attempt, held.fencingToken);
  }

  /** Reads the queue until it shows the place of the znode: granted, behind another znode, or absent. */
  async #place(
    attempt: Attempt,
    {
      view,
      wasQueued,
      behind = 'nothing',
    }: { view?: QueueView | undefined; readonly wasQueued: boolean; behind?: Behind },
  ): Promise<Step> {
    const { node, deadline } = attempt;
    const { session } = node;
    let isConfirmed = false;
    for (;;) {
      deadline.check();
      if (session.isEnded) return { is: 'over' };
      if (!node.mayBeGranted) return { is: 'absent' };
      // A server that lags behind the create cannot say which znodes are before this one.
      if (view && view.zxid < node.czxid) {
        reached('a list from a server that lags behind the create');
        view = undefined;
        behind = 'sync';
      }
      if (view === undefined) {
        if (!deadline.mayWait && !session.isConnected) return { is: 'taken' };
        view = await this.#queue.readAgain(session, deadline, behind);
        if (view) behind = 'nothing';
        continue;
      }
      const standing = view.standingOf(node.name);
      if (!isConfirmed && this.#isContradicted(attempt, standing)) {
        isConfirmed = true;
        view = undefined;
        continue;
      }
      switch (standing.is) {
        case 'absent':
          return { is: 'absent' };
        case 'holder':
          return grantNow(attempt, standing.fencingToken) ?? grant(attempt, standing.fencingToken);
        case 'waiting':
          deadline.progress = 'behind-others';
          if (!deadline.mayWait) return { is: 'taken' };
          if (!wasQueued) this.#tellQueued(attempt, standing.position, view);
          return this.#waiting(attempt, standing);
        case 'next': {
          const claimed = await standing.claim(session, node.path);
          if (claimed.is === 'holder') return grant(attempt, claimed.fencingToken);
          if (claimed.is === 'absent') return { is: 'absent' };
          if (claimed.is === 'unknown') reached('weights: claim unknown');
          // A session that moved to another server may be shown an older tree. Only a view that is read behind a quorum
          // write shows whether the claim was executed.
          behind = claimed.is === 'unknown' ? 'write' : 'nothing';
          view = undefined;
        }
      }
    }
  }

  /** A bit of a name may have been changed on its way. Then the next list decides. */
  #isContradicted({ predecessors }: Attempt, standing: Standing): boolean {
    if (!predecessors) return false;
    const names = standing.is === 'waiting' ? [standing.before, standing.watch] : [];
    return predecessors.isContradictedBy(names.flatMap((name) => (name ? join(this.#lock.path, name) : [])));
  }

  #waiting(
    { node }: Attempt,
    { position, rank, watch, isNext, isAdjacent, before, lockData, children }: Queued,
  ): Waiting {
    const path = join(this.#lock.path, watch);
    // Reuses the string that the predecessor's node holds, because ten thousand waiters would otherwise hold ten
    // thousand copies.
    const local = nodesOf(node.session).get(path);
    const waiting = {
      is: 'waiting',
      predecessor: local?.path ?? path,
      isAdjacent: isAdjacent && this.#queue.isAppendOnly(node),
      isNext,
      position,
    } as const;
    if (before !== undefined && !local && waiting.isAdjacent)
      return { ...waiting, before: join(this.#lock.path, before) };
    if (local) reached('behind a znode of this process');
    const isPlain = rank === undefined && lockData === undefined && children === undefined;
    return isPlain ? waiting : { ...waiting, rank, lockData, children };
  }

  #tellQueued({ node, deadline }: Attempt, position: number | undefined, view: QueueView | undefined): void {
    const { listener } = this.#lock;
    if (listener === undefined) return;
    const { name, path } = node;
    listener.queued(position ?? (listener.wantsPosition ? view?.positionOf?.(name) : undefined), path, deadline);
  }

  #explained(error: unknown): unknown {
    return error instanceof ZooKeeperError
      ? requestFailed(this.#lock.host.options, `The lock ${this.#lock.path} cannot be acquired`, error)
      : error;
  }
}

/**
 * The position that the queue showed. If no position was read: the number of this process's znodes before this znode,
 * provided that the first of them holds the lock. Undefined if znodes of other processes may stand between.
 */
function positionAt({ node, predecessors }: Attempt, step: Step | undefined): number | undefined {
  if (predecessors?.count !== undefined) return predecessors.count;
  if (step?.is === 'waiting' && step.position !== undefined) return step.position;
  for (const holding of node.session.holdings) {
    const position = holding instanceof Grant ? holding.node.stepsTo(node) : undefined;
    if (position !== undefined) return position;
  }
  return undefined;
}

/** Attaches a session that was quiet anew, with a proof that the znode exists. */
function freshen({ node }: Attempt): void {
  if (node.session.isStale) void node.session.attach(node);
}

/** The options of one attempt, in which it differs from other attempts on the same lock. */
export interface JoinOptions {
  /** The data to write into the znode instead of the lock's default data. */
  readonly data?: Uint8Array | undefined;
  /**
   * The grant of the write lock that the same owner holds. The read lock is created at the writer's place, and granted
   * at once.
   */
  readonly downgradeOf?: Grant | undefined;
}
