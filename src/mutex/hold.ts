import { NotOwnedError, type LockLostError } from '../client/errors.js';
import type { Grant, Release } from '../internals/grant.js';
import type { LockContext } from './lock-context.js';

/** Several handles of one owner share one grant; the znode goes with the last of them. */
export interface SharedGrant {
  readonly grant: Grant;
  handles: number;
}

/** Who is told when a handle is released. */
export interface HoldKeeper {
  readonly lock: { readonly client: object; readonly path: string; readonly lockName: string };
  released(hold: Hold): void;
}

type HoldState =
  | { readonly at: 'open' }
  | { readonly at: 'released'; readonly outcome: Promise<Release>; readonly loss: LockLostError | undefined };

/**
 * One acquire's handle on a lock. Everything that the lock protects should ask `isValid` or pass `fencingToken` on, and stop when
 * `signal` aborts.
 *
 * @example
 * await using hold = await mutex.acquire({ timeoutMs: 5_000 });
 * await db.query('UPDATE account SET balance = $1, token = $2 WHERE id = $3 AND token <= $2', [balance, hold.fencingToken, id]);
 */
export class Hold implements AsyncDisposable {
  /** The znode that stands for this hold, such as `/locks/orders/42/_c_<uuid>-lock-0000000007`. */
  readonly path: string;
  /**
   * The czxid of the znode: greater than that of every earlier holder of this lock on this ensemble. Not comparable across ensembles, nor
   * after a backup was restored. Readers hold together, so that several tokens are good at once; a reader who was the writer has its writer's token.
   */
  readonly fencingToken: bigint;
  /** Counts the grants of one znode, where a sticky lock has several: they share one `fencingToken`. Else 0n. */
  readonly grant: bigint;
  /** @internal */
  readonly keeper: HoldKeeper;
  /** @internal */
  readonly shared: SharedGrant;
  /** @internal Whose hold it is; undefined when it was acquired outside of every context. */
  readonly context: LockContext | undefined;
  #state: HoldState = { at: 'open' };
  #aborter: AbortController | undefined;
  #stopListening: (() => void) | undefined;

  /** @internal */
  constructor(shared: SharedGrant, keeper: HoldKeeper, context: LockContext | undefined) {
    shared.handles += 1;
    this.path = shared.grant.publicPath;
    this.fencingToken = shared.grant.fencingToken;
    this.grant = shared.grant.number;
    this.shared = shared;
    this.keeper = keeper;
    this.context = context;
  }

  /**
   * Whether the lock is certainly still held, judged now against the session's clock. Once false, it is always false. It is false
   * after a release, too.
   */
  get isValid(): boolean {
    return this.#state.at === 'open' && this.shared.grant.isValid;
  }

  /**
   * Aborts with a LockLostError when the lock is lost before it is released. A normal release does not abort it.
   *
   * @example
   * await fetch(url, { signal: hold.signal });
   */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      const aborter = new AbortController();
      this.#aborter = aborter;
      const { loss } = this;
      if (loss) aborter.abort(loss);
      else if (this.#state.at === 'open') this.#stopListening = this.shared.grant.onLost((error) => aborter.abort(error));
    }
    return this.#aborter.signal;
  }

  /**
   * Throws unless the hold is valid: to be called right before each step that must not run without the lock.
   *
   * @throws LockLostError when the lock is lost
   * @throws NotOwnedError when this handle was released before
   * @example
   * for (const row of rows) {
   *   hold.assertValid();
   *   await write(row, hold.fencingToken);
   * }
   */
  assertValid(): void {
    if (!this.isValid) throw this.loss ?? new NotOwnedError(this.keeper.lock.path);
  }

  /**
   * Lets go. The outcome is decided when it is called: `lost` if the lock was not certainly held any more. The promise settles when the
   * server has deleted the znode, or at the session's deadline, and never rejects; a deletion that fails is repeated in the background.
   * The znode goes with the last handle of the same owner. Calling it again returns the same promise.
   *
   * @example
   * if ((await hold.release()) === 'lost') await checkWhatWasWritten();
   */
  release(): Promise<Release> {
    // Judged while it is open: a loss that is noticed only now still aborts its signal, and who hears of that may release it as well.
    if (!this.isValid && this.#state.at === 'released') return this.#state.outcome;
    const outcome = this.#letGo();
    this.#state = { at: 'released', outcome, loss: this.shared.grant.loss };
    this.keeper.released(this);
    return outcome;
  }

  /** `release()`: what `await using` calls. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.release().then(() => undefined);
  }

  /** @internal Why it was lost, if that was before it was released. */
  get loss(): LockLostError | undefined {
    return this.#state.at === 'open' ? this.shared.grant.loss : this.#state.loss;
  }

  #letGo(): Promise<Release> {
    this.shared.handles -= 1;
    const { grant } = this.shared;
    const outcome = this.shared.handles === 0 ? grant.end() : Promise.resolve<Release>(grant.isValid ? 'released' : 'lost');
    // Only now: what the outcome says, the signal has told.
    this.#stopListening?.();
    return outcome;
  }
}
