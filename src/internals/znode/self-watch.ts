import type { LockHost } from '../../client/lock-host.js';
import { inNoContext } from '../../support/no-context.js';
import type { CancelTimer } from '../../support/clock.js';
import { Listeners } from '../../support/listeners.js';
import type { Stat } from '../../zookeeper/wire/operations.js';
import type { Session } from '../../zookeeper/session/session.js';
import type { WatchListener } from '../../zookeeper/session/watches.js';
import { markIn, type Mark } from './znode-data.js';
import { reached } from '../../support/reached.js';

/**
 * The watch of a process on its own znode. It reports the znode's deletion, whichever client deleted it, and the marks
 * that others write into the znode.
 */
export class SelfWatch {
  readonly #watched: OwnZnode;
  #state: SelfWatchState = off;
  // Fields that few znodes need are created on demand, because ten thousand znodes may wait.
  #marks: Listeners<Mark> | undefined;
  #mark: { readonly is: Mark | undefined; readonly mzxid: bigint } | undefined;

  constructor(watched: OwnZnode) {
    this.#watched = watched;
  }

  /** Plants the watch after a short delay, if the lock is still held by then. */
  plantForHolder(): void {
    this.#plantIn(holderWatchMs, 'holder');
  }

  /**
   * Plants the watch after a delay, if the znode still waits then. A deletion during the delay is detected before the
   * grant.
   */
  plantForWaiter(): void {
    this.#plantIn(waiterWatchMs, 'waiter');
  }

  /** Plants the watch now. After a reconnect, reads the znode again, because the server has not promised the event yet. */
  plant(): void {
    this.cancel();
    if (!this.#watched.isThere) return;
    if (this.#state.at === 'planted') {
      const { listener, promisedOn } = this.#state;
      if (promisedOn !== undefined && promisedOn !== this.#watched.session.epoch) this.#look(listener);
      return;
    }
    const listener: WatchListener = (event) => {
      this.#state = off;
      if (event === 'deleted') this.#watched.markDeleted();
      else this.plant();
    };
    this.#look(listener);
  }

  /** Cancels a watch that is due but not planted yet. */
  cancel(): void {
    if (this.#state.at !== 'due') return;
    this.#state.cancelTimer();
    this.#state = off;
  }

  /** The znode was deleted, and the server's watch is gone with it. */
  end(): void {
    this.cancel();
    if (this.#state.at === 'planted')
      this.#watched.session.watches.remove(this.#watched.path, 'data', this.#state.listener, { forget: false });
  }

  /**
   * True if the znode cannot have been deleted without an event: the server has promised the event on this connection
   * (after a reconnect, events arrive in no order), or the znode has waited for so short a time that a holder would
   * have no watch yet either.
   */
  get isDeletionWatched(): boolean {
    switch (this.#state.at) {
      case 'off':
        return false;
      case 'due':
        return this.#state.whose === 'waiter' && this.#watched.host.clock.now() < this.#state.since + holderWatchMs;
      case 'planted':
        return this.#state.promisedOn === this.#watched.session.epoch;
    }
  }

  /** The last mark that was read from the znode. */
  get mark(): Mark | undefined {
    return this.#mark?.is;
  }

  /** Calls `listener` each time that another client writes a mark. */
  onMark(listener: (mark: Mark) => void): () => void {
    this.#marks ??= new Listeners();
    return this.#marks.add(listener);
  }

  #plantIn(delayMs: number, whose: 'holder' | 'waiter'): void {
    if (this.#state.at === 'planted') return;
    const since = this.#watched.host.clock.now();
    const dueAt = since + delayMs;
    // The earliest time counts. Otherwise the grants of a sticky lock, each shorter than the delay, would postpone the
    // watch without end.
    if (this.#state.at === 'due' && dueAt >= this.#state.dueAt) return;
    this.cancel();
    this.#state = {
      at: 'due',
      whose,
      since,
      dueAt,
      cancelTimer: this.#watched.host.clock.after(delayMs, () => this.plant()),
    };
  }

  #look(listener: WatchListener): void {
    this.#state = { at: 'planted', listener, promisedOn: undefined };
    void inNoContext(() => this.#askFor(listener));
  }

  async #askFor(listener: WatchListener): Promise<void> {
    const { session, path } = this.#watched;
    try {
      // Asked until it is answered. The next connection plants the watch again, but reports only later changes, and the
      // lost answer may have contained an earlier one.
      const found = await session.ask(async () =>
        this.#watched.isThere ? ((await session.watches.plant(path, 'data', listener)) ?? 'gone') : 'gone',
      );
      if (found === 'gone') {
        reached('own znode gone when its watch was planted');
        this.#watched.foundMissing();
      } else if (found) {
        // An event that arrived with the answer has planted another watch, which the server has not promised yet.
        if (this.#state.at === 'planted' && this.#state.listener === listener)
          this.#state = { at: 'planted', listener, promisedOn: session.epoch };
        this.#read(found.data, found.stat);
      }
    } catch (error) {
      const { report } = this.#watched.host;
      report.warn(`${report.onServers(path)} cannot be watched`, error);
    }
  }

  #read(data: Buffer, { czxid, mzxid }: Stat): void {
    // Data that the znode was created with belongs to its owner, even if it looks like a mark.
    if (mzxid <= (this.#mark?.mzxid ?? czxid)) return;
    const mark = markIn(data);
    this.#mark = { is: mark, mzxid };
    if (mark === 'force') {
      reached('forced by another client');
      this.#watched.forced();
    }
    if (mark) this.#marks?.tell(mark);
  }
}

/** The watched znode of this process. */
export interface OwnZnode {
  readonly session: Session;
  readonly path: string;
  readonly isThere: boolean;
  readonly host: LockHost;
  /** The znode was deleted. */
  markDeleted(): void;
  /** The servers say that it does not exist. */
  foundMissing(): void;
  /** Another client takes the lock by force. */
  forced(): void;
}

type SelfWatchState =
  | { readonly at: 'off' }
  | {
      readonly at: 'due';
      readonly whose: 'holder' | 'waiter';
      readonly since: number;
      readonly dueAt: number;
      readonly cancelTimer: CancelTimer;
    }
  /** `promisedOn`: the connection on which the server's answer arrived; undefined until then. */
  | { readonly at: 'planted'; readonly listener: WatchListener; readonly promisedOn: number | undefined };

const off: SelfWatchState = { at: 'off' };

/**
 * A lock that is held for a shorter time needs no watch on its znode, because the watch would cost half as much as
 * everything else.
 */
const holderWatchMs = 10;
/** If a znode waits for a shorter time, the list or the hand-over before its grant detects whether it still exists. */
const waiterWatchMs = 1_000;
