import { inNoContext } from '../support/no-context.js';
import { LockLostError, type LossReason } from '../client/report/lock-lost-error.js';
import { SessionExpiredError } from '../client/report/client-errors.js';
import { Listeners } from '../support/listeners.js';
import type { Holding } from '../zookeeper/session/holding.js';
import { sessionName } from '../zookeeper/wire/wire-session.js';
import type { LockNode } from './znode/lock-node.js';

/**
 * A lock held by one znode, shared by all handles of one owner. It ends with the release of the last handle, or by
 * loss.
 */
export class Grant implements Holding {
  readonly path: string;
  readonly fencingToken: bigint;
  /** The number of this grant among the grants of its znode. */
  readonly number: bigint;
  readonly node: LockNode;
  readonly heldSince: number;
  readonly #giveUp: () => Promise<void> | undefined;
  /** Undefined while the application has no hold of this grant. */
  #user: GrantUser | undefined;
  readonly #stops: readonly (() => void)[];
  readonly #losses = new Listeners<LockLostError>();
  /** How many of the owner's holds were not released and have a lease that has not ended. */
  handles = 0;
  #revoked: () => void = () => undefined;
  #state: GrantState = { at: 'held' };

  constructor(
    node: LockNode,
    { fencingToken = node.czxid, number = 0n, giveUp = () => node.handOverOrDelete() }: GrantOptions = {},
  ) {
    this.path = node.path;
    this.fencingToken = fencingToken;
    this.number = number;
    this.node = node;
    this.heldSince = node.host.clock.wall();
    this.#giveUp = giveUp;
    node.granted();
    node.session.hold(this);
    node.watch.plantForHolder();
    this.#stops = [
      node.onGone(() => this.#znodeGone()),
      node.watch.onMark((mark) => (mark === 'force' ? this.#lose('forced') : this.#revoked())),
    ];
  }

  /**
   * The error of the loss, judged now against the session's clock. Undefined while the lock is held, and after its
   * release.
   */
  get loss(): LockLostError | undefined {
    if (this.#state.at === 'held') this.node.session.isAlive();
    return this.#state.at === 'lost' ? this.#state.error : undefined;
  }

  /** The application has a hold of this grant from now on. */
  usedBy(user: GrantUser = noJob): void {
    this.#user = user;
  }

  get isInner(): boolean {
    return this.#user === undefined;
  }

  get isOfLiveJob(): boolean {
    return this.#user?.isLive === true;
  }

  get isValid(): boolean {
    return this.#state.at === 'held' && this.node.session.isAlive();
  }

  /** The lock is certainly held until this time if no server answers any more; monotonic milliseconds. */
  get deadline(): number {
    return this.node.session.deadline;
  }

  onLost(listener: (error: LockLostError) => void): () => void {
    return this.#losses.add(listener);
  }

  /** Calls `listener`, the only one, each time that another process asks the holder to release. */
  onRevoke(listener: () => void): void {
    this.#revoked = listener;
  }

  markLost(reason: LossReason): void {
    if (this.#state.at !== 'held') return;
    const isOfSession = reason === 'session-expired' || reason === 'session-deadline';
    const cause = isOfSession ? { cause: new SessionExpiredError(sessionName(this.node.session.id)) } : {};
    this.#state = { at: 'lost', error: new LockLostError(this.path, reason, cause), isTold: false };
  }

  tellLost(): void {
    if (this.#state.at !== 'lost' || this.#state.isTold) return;
    const { error } = this.#state;
    this.#state = { at: 'lost', error, isTold: true };
    this.#losses.tell(error);
    // In these cases the session stays alive without this grant. After the end of the session, the jobs of its lost
    // holds must end first.
    if (error.reason === 'node-deleted' || error.reason === 'forced' || error.reason === 'lease-expired')
      this.node.session.settle(this);
  }

  foundMissing(): void {
    this.node.foundMissing();
  }

  /**
   * The servers delete the znode also when the session expires. A process that was frozen may read that event before it
   * has judged its session. The session is judged first, and if it is past its deadline, it loses all its holds.
   */
  #znodeGone(): void {
    this.node.session.isAlive();
    this.#lose('node-deleted');
  }

  #lose(reason: LossReason): void {
    this.markLost(reason);
    this.tellLost();
  }

  /**
   * Called when the leases of all handles have expired. The next waiter need not wait for the holder's jobs, because
   * they may hang.
   */
  expire(): void {
    // A listener of the end of a lease may have found that the session is lost. Its end must not wait for these jobs.
    if (this.#state.at !== 'held') return this.node.session.settle(this);
    this.#lose('lease-expired');
    void this.node.handOverOrDelete();
  }

  /** The outcome is decided now. The promise settles when the server has answered, or at the session's deadline. */
  release(): Promise<ReleaseOutcome> {
    const isValid = this.isValid;
    this.node.session.settle(this);
    for (const stop of this.#stops) stop();
    if (!isValid) {
      // `forceRelease` is waiting for the znode to disappear: delete it now.
      if (this.loss?.reason === 'forced') void this.node.delete();
      return Promise.resolve('lost');
    }
    this.#state = { at: 'released' };
    const ended = this.#giveUp();
    // In an outage the promise is pending until the deadline, even if the caller does not await it. So it runs outside
    // of the caller's context.
    return ended ? inNoContext(() => this.#until(ended)) : released;
  }

  #until(ended: Promise<void>): Promise<ReleaseOutcome> {
    const { session } = this.node;
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        cancel();
        resolve('released');
      };
      const stop = session.onChange(() => session.isEnded && done());
      const cancel = session.afterDeadline(done);
      void ended.then(done);
    });
  }
}

/** The way in which a lock differs from Curator's. */
export interface GrantOptions {
  /** @default the znode's czxid */
  readonly fencingToken?: bigint | undefined;
  /** @default 0n */
  readonly number?: bigint;
  /**
   * Ends the use of the znode at release. Returns undefined if the release has nothing to wait for.
   * @default hands the lock over, or deletes the znode
   */
  readonly giveUp?: () => Promise<void> | undefined;
}

/** The job or the lock context that has a grant. */
export interface GrantUser {
  readonly isLive: boolean;
}

/** A hold that was acquired outside of every job and context. */
const noJob: GrantUser = { isLive: false };

/**
 * The outcome of a hold, decided when `release()` was called: `released` if the hold was valid until then, `lost` if
 * another client may have held the lock meanwhile.
 */
export type ReleaseOutcome = 'released' | 'lost';

type GrantState =
  | { readonly at: 'held' }
  | { readonly at: 'lost'; readonly error: LockLostError; readonly isTold: boolean }
  | { readonly at: 'released' };

const released = Promise.resolve<ReleaseOutcome>('released');
