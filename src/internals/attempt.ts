import { join } from '../zookeeper/path.js';
import { watchZnode } from '../zookeeper/watch-znode.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { Grant } from './grant.js';
import { rememberHolder, seenIn } from './known-holder.js';
import { LockTimeoutError } from '../client/lock-timeout-error.js';
import { nodesOf, type LockNode, type WakeReason } from './lock-node.js';
import { MisfitError } from './own-creation.js';
import { seekPhantoms, seekPhantomsFar } from './phantoms.js';
import { Predecessors, type WaiterToWake, type ZnodesBefore } from './predecessors.js';
import type { Queued, QueueView, Standing } from './queue-view.js';
import type { Behind, ZnodeQueue } from './znode-queue.js';
import type { Deadline, Wait } from '../support/deadline.js';

/**
 * The path of one znode through the queue, in one session, step by step. An attempt deletes its znode in the background
 * if the znode is not granted. An attempt is small because ten thousand attempts may wait between two steps.
 */
export class Attempt {
  readonly #queue: ZnodeQueue;
  readonly #node: LockNode;
  readonly #deadline: Deadline;
  /** Undefined while the znode waits for no znode of another process. */
  #predecessors: Predecessors | undefined;

  constructor(queue: ZnodeQueue, session: Session, deadline: Deadline) {
    this.#queue = queue;
    this.#node = queue.newNode(session);
    this.#deadline = deadline;
  }

  /** `begin`, limited by the deadline. */
  beginInTime(options: AttemptOptions): Promise<Step> {
    return this.#deadline.limit(
      () => this.begin(options),
      (late) => this.#late(late),
    );
  }

  /** `goOn`, limited by the deadline. */
  goOnInTime(waiting: Waiting, reason: WakeReason): Promise<Step> {
    return this.#deadline.limit(
      () => this.goOn(waiting, reason),
      (late) => this.#late(late),
    );
  }

  /** Creates the znode, and finds its place in the queue. */
  begin({ data, downgradeOf }: AttemptOptions): Promise<Step> {
    this.#deadline.progress = 'asking';
    return this.#stepped(downgradeOf ? this.#downgrade(downgradeOf, data) : this.#queueUp(data));
  }

  /**
   * Resolves when the predecessor is gone, or when the waiter must look at the queue again because its own znode, its
   * session or the lock's own znode has changed. Rejects as soon as the deadline expires.
   */
  waitForPredecessor(waiting: Waiting): Promise<WakeReason> {
    const { predecessor, before, isAdjacent, isNext, position, lockData } = waiting;
    const node = this.#node;
    const local = nodesOf(node.session).get(predecessor);
    node.hasWaited = local === undefined;
    // A waiter that needs another list before its grant learns from that list whether its znode still exists. Its watch
    // can wait.
    const needsList = local !== undefined || (position !== undefined && position > (before === undefined ? 1 : 2));
    if (lockData === undefined && needsList) node.watch.plantForWaiter();
    else node.watch.plant();
    if (local) this.#endLookAhead();
    return this.#deadline.waitAs<WakeReason>((waiter) => {
      node.wait(waiter);
      if (local && isAdjacent && local.isOfOneKindWith(node)) {
        node.follow(local);
        return node;
      }
      if (local)
        return this.#waitBy(
          local.onGone(() =>
            waiter.wake(local.wasGranted && local.isOfOneKindWith(node) ? 'holder-deleted' : 'predecessor-deleted'),
          ),
          this.#watchLockData(lockData, waiter),
        );
      const seekFar = isNext ? undefined : this.#seekFar(waiting, waiter);
      if (isAdjacent) return this.#waitBy(this.#lookAhead(waiting, waiter), this.#watchOwnAfterReconnect(), seekFar);
      const stop = watchZnode(node.session, predecessor, 'data', {
        found: position === 1 ? (znode) => rememberHolder(node.session, seenIn(predecessor, znode)) : undefined,
        told: (event) => waiter.wake(event === 'deleted' ? 'predecessor-deleted' : 'recheck'),
        failed: (error) => waiter.fail(error),
      });
      return this.#waitBy(
        stop,
        isNext ? node.session.keepProven(node) : undefined,
        isNext ? seekPhantoms(node.session, node.tools, [predecessor], () => waiter.wake('recheck')) : seekFar,
        this.#watchLockData(lockData, waiter),
      );
    });
  }

  /**
   * Returns the grant if the wake reason alone proves that the znode is first, and no request is needed. Most waiters
   * get the lock this way, without a list. Returns undefined otherwise.
   */
  tryGrantWithoutList(waiting: Waiting, reason: WakeReason): Outcome | undefined {
    if (
      !this.#isFirst(waiting, reason) ||
      this.#needsProof() ||
      this.#deadline.isExpired ||
      !this.#node.session.isAlive()
    )
      return undefined;
    return this.#mayBeGranted ? this.#granted() : undefined;
  }

  /** Takes the next step after the waiter was woken. */
  goOn(waiting: Waiting, reason: WakeReason): Promise<Step> {
    // The znode may be first or second now. In both cases the session must be proven, and the queue is read behind that
    // proof.
    if (reason !== 'recheck' || this.#predecessors?.isAnyGone) this.#freshen();
    if (reason !== 'recheck') this.#deadline.progress = 'asking';
    if (this.#isFirst(waiting, reason)) return this.#stepped(this.#grant());
    // Sent in one flush with the list, because a second waiter is granted without another list.
    if (this.#predecessors?.isNextSecond) this.#node.watch.plant();
    const behind = this.#predecessors?.wasListOld ? 'sync' : 'nothing';
    return this.#stepped(this.#place(undefined, { wasQueued: true, behind }));
  }

  /** Deletes the znode. @returns the error in the words of the lock */
  failed(error: unknown, step?: Step): unknown {
    const known =
      error instanceof LockTimeoutError
        ? error.with({ position: this.#positionAt(step) })
        : this.#queue.explained(error);
    void this.delete();
    return known;
  }

  /**
   * The position that the queue showed. If no position was read: the number of this process's znodes before this znode,
   * provided that the first of them holds the lock. Undefined if znodes of other processes may stand between.
   */
  #positionAt(step: Step | undefined): number | undefined {
    const { count } = this.#predecessors ?? {};
    if (count !== undefined) return count;
    if (step?.is === 'waiting' && step.position !== undefined) return step.position;
    for (const holding of this.#node.session.holdings) {
      const position = holding instanceof Grant ? holding.node.stepsTo(this.#node) : undefined;
      if (position !== undefined) return position;
    }
    return undefined;
  }

  /** Deletes the znode in the background. Resolves when the znode is gone, or when its session has ended. */
  delete(): Promise<void> {
    this.#endLookAhead();
    return this.#node.delete();
  }

  /** The step finished after the deadline: release the grant, or delete the znode. */
  #late(step: Step): void {
    if (step.is === 'granted') void step.grant.release();
    else if (step.is === 'waiting') void this.delete();
  }

  #waitBy(...stops: readonly ((() => void) | undefined)[]): Wait {
    return {
      waitNoMore: () => {
        for (const stop of stops) stop?.();
        this.#node.waitNoMore();
      },
    };
  }

  /** Watches the predecessor, which belongs to another process, and the znode before it. */
  #lookAhead(before: ZnodesBefore, waiter: WaiterToWake): () => void {
    this.#predecessors ??= new Predecessors(this.#node);
    return this.#predecessors.wait(before, waiter);
  }

  /** For a waiter that is not next, because all znodes before it may be phantoms. */
  #seekFar(
    { predecessor, before, position, rank = position }: Waiting,
    waiter: WaiterToWake,
  ): (() => void) | undefined {
    if (rank === undefined || (position !== undefined && position < 2)) return undefined;
    const { session, tools } = this.#node;
    const paths = before === undefined ? [predecessor] : [before, predecessor];
    return seekPhantomsFar(session, tools, paths, rank, () => waiter.wake('recheck'));
  }

  #endLookAhead(): void {
    this.#predecessors?.close();
    this.#predecessors = undefined;
  }

  /**
   * A waiter that may be granted without a list reads its own znode again after each reconnect. The servers report the
   * deletions from before a reconnect in no order.
   */
  #watchOwnAfterReconnect(): () => void {
    const { session, watch } = this.#node;
    return session.onChange(() => {
      if (session.isConnected && this.#predecessors?.areAll) watch.plant();
    });
  }

  /** Attaches a session that was quiet anew, with a proof that the znode exists. */
  #freshen(): void {
    const { session } = this.#node;
    if (session.isStale) void session.attach(this.#node);
  }

  /** Wakes the waiter when a transaction after `mzxid` has written the lock's data, or may have written it. */
  #watchLockData(mzxid: bigint | undefined, waiter: WaiterToWake): (() => void) | undefined {
    if (mzxid === undefined) return undefined;
    const recheck = (): void => waiter.wake('recheck');
    return watchZnode(this.#node.session, this.#queue.path, 'data', {
      found: ({ stat }) => {
        if (stat.mzxid !== mzxid) recheck();
      },
      told: recheck,
      lost: recheck,
      failed: (error) => waiter.fail(error),
    });
  }

  /**
   * The wake reason alone, without a list, proves that the waiter is first in two cases, because no znode can have been
   * inserted before the waiter. In the first case every znode that one list showed before the waiter is gone. In the
   * second case the predecessor was a holder in this process: it was first when it was granted, whenever the list was
   * read.
   *
   * In both cases the waiter's own znode must still exist. The hand-over checks that. Without a hand-over, a watch on
   * the znode must have been planted on this connection, because after a reconnect the server replays the events in no
   * order.
   */
  #isFirst({ isAdjacent, position }: Waiting, reason: WakeReason): boolean {
    if (!isAdjacent || reason === 'recheck') return false;
    if (reason === 'handed-over') return true;
    if (!this.#node.isDeletionWatched) return false;
    return (
      reason === 'holder-deleted' || ((reason === 'all-deleted' || position === 1) && this.#node.session.isConnected)
    );
  }

  async #stepped(steps: Promise<Step>): Promise<Step> {
    try {
      const step = await steps;
      if (step.is !== 'granted' && step.is !== 'waiting') void this.delete();
      return step;
    } catch (error) {
      throw this.failed(error);
    }
  }

  /**
   * The create alone decides. Its transaction has checked the held znode, so no other znode can be before the new one.
   */
  async #downgrade(held: Grant, data = this.#queue.options.data()): Promise<Step> {
    try {
      if (!(await this.#node.createAtPlaceOf(held.node, data, this.#queue.host.options.aclFor))) return { is: 'over' };
    } catch (error) {
      if (error instanceof MisfitError) return { is: 'absent' };
      if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
      if (!(await this.#queue.findAgain(this.#node.session, this.#node, this.#deadline))) return { is: 'over' };
    }
    return this.#grant(held.fencingToken);
  }

  async #queueUp(data: Uint8Array | undefined): Promise<Step> {
    const node = this.#node;
    const joined = await this.#queue.join(node, this.#deadline, data);
    if (joined.is === 'not created') return { is: 'over' };
    if (joined.is === 'contradicted') return { is: 'absent' };
    this.#queue.refuseOverflow(node);
    if (joined.is === 'created') return this.#place(joined.view, { wasQueued: false });
    const { before } = joined;
    // If the predecessor held the lock and has released it, no znode is before this one.
    if (before.isGone) return before.wasGranted ? this.#grant() : this.#place(undefined, { wasQueued: false });
    this.#deadline.progress = 'behind-others';
    this.#tellQueued(undefined, undefined);
    return { is: 'waiting', predecessor: before.path, isAdjacent: true, isNext: false, position: undefined };
  }

  #tellQueued(position: number | undefined, view: QueueView | undefined): void {
    const { queued } = this.#queue.options;
    if (queued === undefined) return;
    const { name, path } = this.#node;
    queued.tell(position ?? (queued.wantsPosition ? view?.positionOf(name) : undefined), path, this.#deadline);
  }

  async #place(
    view: QueueView | undefined,
    { wasQueued, behind = 'nothing' }: { wasQueued: boolean; behind?: Behind },
  ): Promise<Step> {
    const node = this.#node;
    const { session } = node;
    let isConfirmed = false;
    for (;;) {
      this.#deadline.check();
      if (session.isEnded) return { is: 'over' };
      if (!this.#mayBeGranted) return { is: 'absent' };
      // A server that lags behind the create cannot say which znodes are before this one.
      if (view && view.zxid < node.czxid) {
        view = undefined;
        behind = 'sync';
      }
      if (view === undefined) {
        if (!this.#deadline.mayWait && !session.isConnected) return { is: 'taken' };
        view = await this.#queue.readAgain(session, this.#deadline, behind);
        if (view) behind = 'nothing';
        continue;
      }
      const standing = view.standingOf(node.name);
      if (!isConfirmed && this.#isContradicted(standing)) {
        isConfirmed = true;
        view = undefined;
        continue;
      }
      switch (standing.is) {
        case 'absent':
          return { is: 'absent' };
        case 'holder':
          return this.#grant(standing.fencingToken);
        case 'waiting':
          this.#deadline.progress = 'behind-others';
          if (!this.#deadline.mayWait) return { is: 'taken' };
          if (!wasQueued) this.#tellQueued(standing.position, view);
          return this.#waiting(standing);
        case 'next': {
          const claimed = await standing.claim(session, node.path);
          if (claimed.is === 'holder') return this.#grant(claimed.fencingToken);
          if (claimed.is === 'absent') return { is: 'absent' };
          // A session that moved to another server may be shown an older tree. Only a view that is read behind a quorum
          // write shows whether the claim was executed.
          behind = claimed.is === 'unknown' ? 'write' : 'nothing';
          view = undefined;
        }
      }
    }
  }

  /** A bit of a name may have been changed on its way. Then the next list decides. */
  #isContradicted(standing: Standing): boolean {
    const { before, watch } = standing.is === 'waiting' ? standing : none;
    const names = [before, watch].filter((name) => name !== undefined);
    return this.#predecessors?.isContradictedBy(names.map((name) => join(this.#queue.path, name))) ?? false;
  }

  #waiting({ position, rank, watch, isNext, isAdjacent, before, lockData, children }: Queued): Waiting {
    const path = join(this.#queue.path, watch);
    // Reuses the string that the predecessor's node holds, because ten thousand waiters would otherwise hold ten
    // thousand copies.
    const local = nodesOf(this.#node.session).get(path);
    const waiting = {
      is: 'waiting',
      predecessor: local?.path ?? path,
      isAdjacent: isAdjacent && this.#queue.isAppendOnly(this.#node),
      isNext,
      position,
    } as const;
    if (before !== undefined && !local && waiting.isAdjacent)
      return { ...waiting, before: join(this.#queue.path, before) };
    const isPlain = rank === undefined && lockData === undefined && children === undefined;
    return isPlain ? waiting : { ...waiting, rank, lockData, children };
  }

  async #grant(fencingToken = this.#node.czxid): Promise<Step> {
    const { session } = this.#node;
    this.#deadline.progress = 'first';
    // A hold that is about to expire would be lost as soon as it is granted. So the session first proves that it is
    // alive. The znode may be deleted meanwhile, and the lock granted to another client. The proof is a transaction that
    // checks the znode, and the watch reports a deletion between two proofs.
    if (this.#needsProof()) this.#node.watch.plant();
    while (!session.isEnded && this.#needsProof()) {
      if (!this.#deadline.mayWait && !session.isConnected) return { is: 'taken' };
      if (await session.whenConnected(this.#deadline)) await session.prove(this.#node).catch(unlessUnknown);
      if (this.#needsProof()) await this.#deadline.sleep(session.proofPauseMs);
    }
    this.#deadline.check();
    if (!session.isAlive()) return { is: 'over' };
    return this.#mayBeGranted ? this.#granted(fencingToken) : { is: 'absent' };
  }

  #granted(fencingToken = this.#node.czxid): Outcome {
    this.#endLookAhead();
    this.#deadline.progress = 'first';
    return { is: 'granted', grant: new Grant(this.#node, { fencingToken, isInner: this.#queue.options.isInner }) };
  }

  get #mayBeGranted(): boolean {
    return !this.#node.isGone && this.#node.mark !== 'force';
  }

  #needsProof(): boolean {
    return !this.#node.session.hasTimeToGrant;
  }
}

const none: Partial<Queued> = {};

/** A lost proof is made again on the next connection. A server that does not know the request will never prove anything. */
function unlessUnknown(error: unknown): void {
  if (isZooKeeperError(error, 'UNIMPLEMENTED')) throw error;
}

/** The options of one attempt, in which it differs from other attempts on the same lock. */
export interface AttemptOptions {
  /** The data to write into the znode instead of the lock's default data. */
  readonly data?: Uint8Array | undefined;
  /**
   * The grant of the write lock that the same owner holds. The read lock is created at the writer's place, and granted
   * at once.
   */
  readonly downgradeOf?: Grant | undefined;
}

export type Outcome =
  | { readonly is: 'granted'; readonly grant: Grant }
  /** Another znode is before this one, and the attempt may not wait. */
  | { readonly is: 'taken' }
  /** The znode is not in the queue. The retry policy decides. */
  | { readonly is: 'absent' }
  /** The session ended, or the create was never executed. Starting over loses nothing. */
  | { readonly is: 'over' };

export interface Waiting extends ZnodesBefore {
  readonly is: 'waiting';
  /** True if the znode stands right behind its predecessor, and no znode can be inserted between them. */
  readonly isAdjacent: boolean;
  /** True if the znode may be granted as soon as its predecessor is gone. */
  readonly isNext: boolean;
  /** See {@link Queued}. */
  readonly rank?: number | undefined;
  readonly lockData?: bigint | undefined;
  readonly children?: readonly string[] | undefined;
}

export type Step = Outcome | Waiting;
