import type { LockHost } from '../client/lock-host.js';
import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import type { Deadline } from '../support/deadline.js';
import { join } from '../zookeeper/wire/path.js';
import type { Session } from '../zookeeper/session/session.js';
import { isRetryable, isZooKeeperError, ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { Grant } from './grant.js';
import { nodesOf, type LockNode, type WakeReason } from './znode/lock-node.js';
import { MisfitError } from './znode/own-creation.js';
import type { Queued, QueueView, Standing } from './queue-view.js';
import { requestFailed, znodeDeleted } from './refusal.js';
import { Retries } from './retries.js';
import { endLookAhead, untilChange, type Attempt, type Waiting } from './waiting.js';
import { ZnodeQueue, type Behind, type LockInternalsOptions } from './znode-queue.js';
import { reached } from '../support/reached.js';

/**
 * The wait for a lock: join the queue, look at it, wait for a change, and look again, until the znode is granted. A
 * znode that is not granted is deleted in the background.
 */
export class LockInternals {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #options: LockInternalsOptions;
  readonly #queue: ZnodeQueue;

  constructor(host: LockHost, path: string, options: LockInternalsOptions) {
    this.#host = host;
    this.#path = path;
    this.#options = options;
    this.#queue = new ZnodeQueue(host, path, options);
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
    const { sessions } = this.#host;
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
      const attempt = this.newAttempt(session, deadline, grantOf);
      let step = await this.#joinInTime(attempt, data || downgradeOf ? { data, downgradeOf } : noOptions);
      while (step.is === 'waiting') {
        try {
          const reason = await untilChange(attempt, step);
          step = this.#grantWithoutList(attempt, step, reason) ?? (await this.#lookInTime(attempt, step, reason));
        } catch (error) {
          // Also reached when the deadline expires between the two calls. Then no later step runs, and nothing else
          // deletes the znode.
          throw this.failed(attempt, error, step);
        }
      }
      if (step.is === 'granted') return step.grant;
      if (step.is === 'absent') await (retries ??= new Retries(this.#host)).pause(deadline, znodeDeleted(this.#path));
    }
  }

  /** As `acquire`, for a deadline that may not wait: reads the queue before it creates a znode. */
  async tryAcquire(deadline: Deadline, options: QueueOptions = noOptions): Promise<Tried> {
    const { data, heldForWriting, grantOf } = options;
    let retries: Retries | undefined;
    for (;;) {
      const session = this.#host.sessions.current;
      deadline.check();
      if (!session.isConnected) return taken;
      const downgradeOf = heldForWriting?.();
      if (!downgradeOf) {
        const view = await deadline.limit(() => this.#viewBefore(session), ignore);
        if (view !== 'free') {
          if (view) deadline.progress = 'behind-others';
          return { is: 'taken', session, view };
        }
      }
      const step = await this.#joinInTime(this.newAttempt(session, deadline, grantOf), { data, downgradeOf });
      if (step.is === 'granted') return step;
      if (step.is === 'absent') await (retries ??= new Retries(this.#host)).pause(deadline, znodeDeleted(this.#path));
      else if (step.is !== 'over') return taken;
    }
  }

  /** Returns 'free', or the view of a queue that is not free, or undefined if no server answered. */
  async #viewBefore(session: Session): Promise<'free' | QueueView | undefined> {
    session.catchUp(this.#path);
    try {
      const view = await this.#queue.read(session);
      return view?.isFree ? 'free' : view;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  /** An attempt in one session. A caller that implements its own wait takes it through `join` and `look`. */
  newAttempt(session: Session, deadline: Deadline, grantOf?: QueueOptions['grantOf']): Attempt {
    return { node: this.#queue.newNode(session), deadline, grantOf, predecessors: undefined };
  }

  #joinInTime(attempt: Attempt, options: JoinOptions): Promise<Step> {
    return attempt.deadline.limit(
      () => this.join(attempt, options),
      (late) => this.#late(attempt, late),
    );
  }

  #lookInTime(attempt: Attempt, waiting: Waiting, reason: WakeReason): Promise<Step> {
    return attempt.deadline.limit(
      () => this.look(attempt, waiting, reason),
      (late) => this.#late(attempt, late),
    );
  }

  /** The step finished after the deadline: release the grant, or delete the znode. */
  #late(attempt: Attempt, step: Step): void {
    if (step.is === 'granted') {
      reached('granted after the deadline');
      void step.grant.release();
    } else if (step.is === 'waiting') void this.delete(attempt);
  }

  /** Creates the znode, and finds its place in the queue. */
  async join(attempt: Attempt, { data = this.#options.data(), downgradeOf }: JoinOptions): Promise<Step> {
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
          return this.#grantNow(attempt) ?? this.#kept(attempt, await this.#grant(attempt));
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
      if (isFirst(attempt, waiting, reason)) return this.#kept(attempt, await this.#grant(attempt));
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
    endLookAhead(attempt);
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
      if (!(await node.createAtPlaceOf(held.node, data, this.#host.options.aclFor))) return { is: 'over' };
    } catch (error) {
      if (error instanceof MisfitError) return { is: 'absent' };
      if (!isRetryable(error)) throw error;
      reached('downgrade: the answer was lost');
      if (!(await this.#queue.findAgain(node, deadline))) return { is: 'over' };
    }
    return this.#grant(attempt, held.fencingToken);
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
          return this.#grantNow(attempt, standing.fencingToken) ?? this.#grant(attempt, standing.fencingToken);
        case 'waiting':
          deadline.progress = 'behind-others';
          if (!deadline.mayWait) return { is: 'taken' };
          if (!wasQueued) this.#tellQueued(attempt, standing.position, view);
          return this.#waiting(attempt, standing);
        case 'next': {
          const claimed = await standing.claim(session, node.path);
          if (claimed.is === 'holder') return this.#grant(attempt, claimed.fencingToken);
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
    const { before, watch } = standing.is === 'waiting' ? standing : none;
    const names = [before, watch].filter((name) => name !== undefined);
    return predecessors.isContradictedBy(names.map((name) => join(this.#path, name)));
  }

  #waiting(
    { node }: Attempt,
    { position, rank, watch, isNext, isAdjacent, before, lockData, children }: Queued,
  ): Waiting {
    const path = join(this.#path, watch);
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
    if (before !== undefined && !local && waiting.isAdjacent) return { ...waiting, before: join(this.#path, before) };
    if (local) reached('behind a znode of this process');
    const isPlain = rank === undefined && lockData === undefined && children === undefined;
    return isPlain ? waiting : { ...waiting, rank, lockData, children };
  }

  #tellQueued({ node, deadline }: Attempt, position: number | undefined, view: QueueView | undefined): void {
    const { listener } = this.#options;
    if (listener === undefined) return;
    const { name, path } = node;
    listener.queued(position ?? (listener.wantsPosition ? view?.positionOf(name) : undefined), path, deadline);
  }

  /**
   * Returns the grant if the wake reason alone proves that the znode is first, and no request is needed. Most waiters
   * get the lock this way, without a list. Returns undefined otherwise.
   */
  #grantWithoutList(attempt: Attempt, waiting: Waiting, reason: WakeReason): Step | undefined {
    return isFirst(attempt, waiting, reason) ? this.#grantNow(attempt) : undefined;
  }

  /** Returns the grant of a znode that is first, unless its session needs a proof or has ended, or its caller has. */
  #grantNow(attempt: Attempt, fencingToken?: bigint): Step | undefined {
    const { node, deadline } = attempt;
    if (node.session.needsProof() || deadline.isExpired || !node.session.isAlive()) return undefined;
    return node.mayBeGranted ? this.#granted(attempt, fencingToken) : undefined;
  }

  /** Grants the lock to a znode that is first, as soon as its session has proven that it is alive. */
  async #grant(attempt: Attempt, fencingToken?: bigint): Promise<Step> {
    const { node, deadline } = attempt;
    const { session } = node;
    deadline.progress = 'first';
    // A hold that is about to expire would be lost as soon as it is granted. So the session first proves that it is
    // alive. The znode may be deleted meanwhile, and the lock granted to another client. The proof is a transaction that
    // checks the znode, and the watch reports a deletion between two proofs.
    if (session.needsProof()) node.watch.plant();
    while (!session.isEnded && session.needsProof()) {
      if (!deadline.mayWait && !session.isConnected) return { is: 'taken' };
      const { epoch } = session;
      if (await session.whenConnected(deadline)) await session.prove(node).catch(unlessUnknown);
      // A proof that was lost with its connection is repeated at once on the next one.
      if (session.needsProof() && session.epoch === epoch) await deadline.sleep(session.proofPauseMs);
    }
    deadline.check();
    if (!session.isAlive()) {
      reached('first, but the session ended before its proof');
      return { is: 'over' };
    }
    return node.mayBeGranted ? this.#granted(attempt, fencingToken) : { is: 'absent' };
  }

  #granted(attempt: Attempt, fencingToken?: bigint): Step {
    const { node, deadline, grantOf } = attempt;
    endLookAhead(attempt);
    deadline.progress = 'first';
    return { is: 'granted', grant: grantOf ? grantOf(node) : new Grant(node, { fencingToken }) };
  }

  #explained(error: unknown): unknown {
    return error instanceof ZooKeeperError
      ? requestFailed(this.#host.options, `The lock ${this.#path} cannot be acquired`, error)
      : error;
  }
}

/**
 * The wake reason alone, without a list, proves that the waiter is first in two cases, because no znode can have been
 * inserted before the waiter. In the first case every znode that one list showed before the waiter is gone. In the
 * second case the predecessor was a holder in this process: it was first when it was granted, whenever the list was
 * read.
 *
 * In both cases the waiter's own znode must still exist. The hand-over checks that. Without a hand-over, a watch on the
 * znode must have been planted on this connection, because after a reconnect the server replays the events in no order.
 */
function isFirst({ node }: Attempt, { isAdjacent, position }: Waiting, reason: WakeReason): boolean {
  if (!isAdjacent || reason === 'recheck') return false;
  if (reason === 'handed-over') return true;
  if (!node.isDeletionWatched) return false;
  return reason === 'holder-deleted' || ((reason === 'all-deleted' || position === 1) && node.session.isConnected);
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

/** A lost proof is made again on the next connection. A server that does not know the request will never prove anything. */
function unlessUnknown(error: unknown): void {
  if (isZooKeeperError(error, 'UNIMPLEMENTED')) throw error;
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

/** The outcome of one try. */
export type Tried =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** The view is undefined if the lock was taken at the same moment, or if no server answered. */
  | { readonly is: 'taken'; readonly session?: Session; readonly view?: QueueView | undefined };

/** The outcome of one attempt. */
export type Outcome =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** Another znode is before this one, and the attempt may not wait. */
  | { readonly is: 'taken' }
  /** The znode is not in the queue. The retry policy decides. */
  | { readonly is: 'absent' }
  /** The session ended, or the create was never executed. Starting over loses nothing. */
  | { readonly is: 'over' };

export type Step = Outcome | Waiting;

const taken: Tried = { is: 'taken' };

const noOptions: QueueOptions & JoinOptions = {};

const none: Partial<Queued> = {};

function ignore(): void {
  // A view that arrives after the deadline is not needed.
}
