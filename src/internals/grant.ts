import { inNoContext } from '../support/no-context.js';
import { LockLostError, type LossReason } from './lock-errors.js';
import { SessionExpiredError } from '../client/client-errors.js';
import { Listeners } from '../support/listeners.js';
import { sessionName, type Holding } from '../zookeeper/session.js';
import type { LockNode } from './lock-node.js';

/** A lock held by one znode, shared by all handles of one owner; it ends with the last of them, or by loss. */
export class Grant implements Holding {
  readonly path: string;
  readonly fencingToken: bigint;
  /** Counts the grants of one znode. */
  readonly number: bigint;
  readonly node: LockNode;
  readonly heldSince = Date.now();
  /** What becomes of the znode when the holder lets go; undefined when nothing has to be waited for. */
  onRelease: () => Promise<void> | undefined;
  readonly #stops: readonly (() => void)[];
  readonly #losses = new Listeners<LockLostError>();
  readonly #revocations = new Listeners<void>();
  #state: GrantState = { at: 'held' };

  constructor(node: LockNode, { fencingToken = node.czxid, number = 0n } = {}) {
    this.path = node.path;
    this.fencingToken = fencingToken;
    this.number = number;
    this.node = node;
    this.onRelease = () => node.handOverOrDelete();
    node.granted();
    node.session.hold(this);
    node.watch.plantForHolder();
    this.#stops = [
      node.onGone(() => this.#lose('node-deleted')),
      node.watch.onMark((mark) => (mark === 'force' ? this.#lose('forced') : this.#revocations.tell())),
    ];
  }

  /** Why it is lost, judged now against the session's clock; undefined while it is held or after its release. */
  get loss(): LockLostError | undefined {
    if (this.#state.at === 'held') this.node.session.isAlive();
    return this.#state.at === 'lost' ? this.#state.error : undefined;
  }

  get isValid(): boolean {
    return this.#state.at === 'held' && this.node.session.isAlive();
  }

  /** Until when it is certainly held if nothing is heard any more; monotonic milliseconds. */
  get deadline(): number {
    return this.node.session.deadline;
  }

  onLost(listener: (error: LockLostError) => void): () => void {
    return this.#losses.add(listener);
  }

  /** Told each time that somebody asks its holder to let go. */
  onRevoke(listener: () => void): void {
    this.#revocations.add(listener);
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
    // The session lives on without it; after the end of the session, its jobs are waited for.
    if (error.reason === 'node-deleted' || error.reason === 'forced' || error.reason === 'lease-expired')
      this.node.session.settle(this);
  }

  #lose(reason: LossReason): void {
    this.markLost(reason);
    this.tellLost();
  }

  /** The leases of all who held by it have ended: who is next need not wait for their jobs, which may hang. */
  expire(): void {
    if (this.#state.at !== 'held') return;
    this.#lose('lease-expired');
    void this.node.handOverOrDelete();
  }

  /** The outcome is decided now; the promise settles on the server's word or at the session's deadline. */
  release(): Promise<ReleaseOutcome> {
    const isValid = this.isValid;
    this.node.session.settle(this);
    for (const stop of this.#stops) stop();
    if (!isValid) {
      // Its job has stopped, and who forced it to waits for that.
      if (this.loss?.reason === 'forced') void this.node.delete();
      return Promise.resolve('lost');
    }
    this.#state = { at: 'released' };
    const left = this.onRelease();
    // In an outage it is pending until the deadline, also where the caller does not wait for it.
    return left ? inNoContext(() => this.#until(left)) : released;
  }

  #until(left: Promise<void>): Promise<ReleaseOutcome> {
    const { session } = this.node;
    return new Promise((resolve) => {
      const done = (): void => {
        stop();
        cancel();
        resolve('released');
      };
      const stop = session.onChange(() => session.isEnded && done());
      const cancel = session.afterDeadline(done);
      void left.then(done);
    });
  }
}

/**
 * How a hold ended, decided when `release()` was called: `released` if the hold was valid until then, `lost` if
 * somebody else may have held
 * the lock meanwhile.
 */
export type ReleaseOutcome = 'released' | 'lost';

type GrantState =
  | { readonly at: 'held' }
  | { readonly at: 'lost'; readonly error: LockLostError; readonly isTold: boolean }
  | { readonly at: 'released' };

const released = Promise.resolve<ReleaseOutcome>('released');
