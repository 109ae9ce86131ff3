import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { Listeners } from '../support/listeners.js';
import type { Stat } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';
import type { WatchListener } from '../zookeeper/watches.js';
import { markIn, type Mark } from './mark.js';

/** A znode of this process that hears of itself: its deletion, by whomever, and the marks that others write into it. */
export class SelfWatch {
  readonly #watched: Watched;
  #state: SelfWatchState = off;
  // What few znodes have is made when it is needed: ten thousand may wait.
  #marks: Listeners<Mark> | undefined;
  #mark: { readonly is: Mark | undefined; readonly mzxid: bigint } | undefined;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** Plants the watch in a moment, if the lock is still held by then. */
  plantForHolder(): void {
    this.#plantIn(holderWatchMs, 'holder');
  }

  /**
   * Plants the watch in a while, if the znode still waits then. Its deletion in the meantime is found out before its
   * grant.
   */
  plantForWaiter(): void {
    this.#plantIn(waiterWatchMs, 'waiter');
  }

  /** Plants the watch now. */
  plant(): void {
    this.cancel();
    if (this.#state.at === 'planted' || !this.#watched.isThere) return;
    const listener: WatchListener = (event) => {
      this.#state = off;
      if (event === 'deleted') this.#watched.markDeleted();
      else this.plant();
    };
    this.#state = { at: 'planted', listener, promisedOn: undefined };
    void inNoContext(() => this.#look(listener));
  }

  /** Takes back a watch that is due. */
  cancel(): void {
    if (this.#state.at !== 'due') return;
    this.#state.cancelTimer();
    this.#state = off;
  }

  /** The znode was deleted, and the server's watch is gone with it. */
  end(): void {
    this.cancel();
    if (this.#state.at === 'planted')
      this.#watched.session.unwatch(this.#watched.path, 'data', this.#state.listener, { forget: false });
  }

  /**
   * Whether the znode cannot have been deleted without a word: the server has promised an event on this connection
   * (after a reconnect events come in no order); or the znode waits
   * for so short a time that a holder would have no watch yet, either.
   */
  get isDeletionWatched(): boolean {
    switch (this.#state.at) {
      case 'off':
        return false;
      case 'due':
        return this.#state.whose === 'waiter' && this.#watched.tools.clock.now() < this.#state.since + holderWatchMs;
      case 'planted':
        return this.#state.promisedOn === this.#watched.session.epoch;
    }
  }

  /** What was asked of the owner last, as far as was heard. */
  get mark(): Mark | undefined {
    return this.#mark?.is;
  }

  /** Calls `listener` each time that somebody asks. */
  onMark(listener: (mark: Mark) => void): () => void {
    this.#marks ??= new Listeners();
    return this.#marks.add(listener);
  }

  #plantIn(delayMs: number, whose: 'holder' | 'waiter'): void {
    if (this.#state.at === 'planted') return;
    const since = this.#watched.tools.clock.now();
    const dueAt = since + delayMs;
    // The earliest one counts: a sticky lock's grants, each shorter than the delay, would put the watch off without
    // end.
    if (this.#state.at === 'due' && dueAt >= this.#state.dueAt) return;
    this.cancel();
    this.#state = {
      at: 'due',
      whose,
      since,
      dueAt,
      cancelTimer: this.#watched.tools.clock.after(delayMs, () => this.plant()),
    };
  }

  async #look(listener: WatchListener): Promise<void> {
    const { session, path } = this.#watched;
    try {
      // Asked until it is answered: the next connection watches again, but tells only of what happens from then on, and
      // the lost answer may have said more.
      const found = await session.ask(async () =>
        this.#watched.isThere ? ((await session.watch(path, 'data', listener)) ?? 'gone') : 'gone',
      );
      if (found === 'gone') this.#watched.markDeleted();
      else if (found) {
        if (this.#state.at === 'planted') this.#state = { ...this.#state, promisedOn: session.epoch };
        this.#read(found.data, found.stat);
      }
    } catch (error) {
      this.#watched.tools.warn(`${this.#watched.tools.onServers(path)} cannot be watched`, error);
    }
  }

  #read(data: Buffer, { czxid, mzxid }: Stat): void {
    // The data of its creation are its owner's, whatever they say.
    if (mzxid <= (this.#mark?.mzxid ?? czxid)) return;
    const mark = markIn(data);
    this.#mark = { is: mark, mzxid };
    if (mark === 'force') this.#watched.forced();
    if (mark) this.#marks?.tell(mark);
  }
}

/** What is watched: a znode of this process, while it is there. */
export interface Watched {
  readonly session: Session;
  readonly path: string;
  readonly isThere: boolean;
  readonly tools: WatchTools;
  /** Somebody has deleted it. */
  markDeleted(): void;
  /** Somebody takes the lock by force. */
  forced(): void;
}

interface WatchTools {
  warn(message: string, error: unknown): void;
  onServers(path: string): string;
  readonly clock: Pick<Clock, 'after' | 'now'>;
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
  /** `promisedOn`: the connection on which the server's answer came; undefined until then. */
  | { readonly at: 'planted'; readonly listener: WatchListener; readonly promisedOn: number | undefined };

const off: SelfWatchState = { at: 'off' };

/** A lock that is held for less needs no watch of its znode. The watch would cost as much as half of all the rest. */
const holderWatchMs = 10;
/** Of a znode that waits for less, the list or the hand-over before its grant finds out whether it is there. */
const waiterWatchMs = 1_000;
