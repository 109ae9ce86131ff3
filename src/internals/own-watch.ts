import type { CancelTimer, Clock } from '../client/clock.js';
import { inNoContext } from '../support/no-context.js';
import { Listeners } from '../client/listeners.js';
import type { Stat } from '../client/operations.js';
import type { Session } from '../client/session.js';
import type { WatchListener } from '../client/watches.js';
import { ZooKeeperError } from '../client/zookeeper-error.js';
import { markIn, type Mark } from './mark.js';
import { plantWatch } from './plant-watch.js';
import { connectedOrEnded } from './reconnected.js';

/** What is watched: a znode of ours, while it is there. */
export interface Watched {
  readonly session: Session;
  readonly path: string;
  readonly isThere: boolean;
  readonly tools: WatchTools;
  /** Somebody has deleted it. */
  vanished(): void;
  /** Somebody takes the lock by force. */
  forced(): void;
}

interface WatchTools {
  warn(message: string, error: unknown): void;
  readonly clock: Pick<Clock, 'after' | 'now'>;
}

/** A lock that is held for less needs no watch of its znode, and that would cost as much as half of all the rest. */
const holderWatchMs = 10;
/** Who waits for less is found out by the look, or the hand-over, that comes before its grant. */
const waiterWatchMs = 1_000;

/** What a znode of ours hears of itself: its deletion, by whomever, and the marks that others write into it. */
export class OwnWatch {
  readonly #watched: Watched;
  // What few znodes have is made when it is needed: ten thousand may wait.
  #marks: Listeners<Mark> | undefined;
  #mark: { readonly is: Mark | undefined; readonly mzxid: bigint } | undefined;
  #fired: WatchListener | undefined;
  /** The connection that the servers' promise to tell of its end came on. */
  #watchedOn = -1;
  #cancelTimer: CancelTimer = nothing;
  #dueAt = Infinity;

  constructor(watched: Watched) {
    this.#watched = watched;
  }

  /** In a moment, if it is still held by then. */
  plantForHolder(): void {
    this.#plantIn(holderWatchMs);
  }

  /** In a while, if it still waits then, and is looked after before it is granted. */
  plantForWaiter(): void {
    this.#plantIn(waiterWatchMs);
  }

  #plantIn(delayMs: number): void {
    if (this.#fired) return;
    const at = this.#watched.tools.clock.now() + delayMs;
    // The earliest one counts: a sticky lock's grants, each shorter than that, would put it off for ever.
    if (at >= this.#dueAt) return;
    this.#cancelTimer();
    this.#dueAt = at;
    this.#cancelTimer = this.#watched.tools.clock.after(delayMs, () => this.plant());
  }

  plant(): void {
    this.cancel();
    if (this.#fired || !this.#watched.isThere) return;
    this.#fired = (event) => {
      this.#fired = undefined;
      this.#watchedOn = -1;
      if (event === 'deleted') this.#watched.vanished();
      else this.plant();
    };
    this.#watched.session.watch(this.#watched.path, this.#fired);
    void inNoContext(() => this.#look());
  }

  /** Takes back what is due. */
  cancel(): void {
    this.#cancelTimer();
    this.#cancelTimer = nothing;
    this.#dueAt = Infinity;
  }

  /** The znode was deleted, which has taken the server's watch along. */
  end(): void {
    this.cancel();
    if (this.#fired) this.#watched.session.unwatch(this.#watched.path, this.#fired, { forget: false });
  }

  /**
   * Whether the servers have promised to tell of its end, on this connection: after a reconnect events come in no order. Or it waits for a watch so
   * shortly that it would have none yet if it were held already.
   */
  get isOn(): boolean {
    if (this.#dueAt === Infinity) return this.#watchedOn === this.#watched.session.epoch;
    return this.#watched.tools.clock.now() < this.#dueAt - waiterWatchMs + holderWatchMs;
  }

  /** What was asked of the owner last, as far as was heard. */
  get mark(): Mark | undefined {
    return this.#mark?.is;
  }

  /** Told each time that somebody asks. */
  onMark(listener: (mark: Mark) => void): () => void {
    this.#marks ??= new Listeners();
    return this.#marks.add(listener);
  }

  async #look(): Promise<void> {
    const { session, path } = this.#watched;
    while (this.#watched.isThere && !session.isEnded) {
      try {
        const found = await plantWatch(session, path);
        if (found === 'gone') this.#watched.vanished();
        else {
          this.#watchedOn = session.epoch;
          this.#read(found.data, found.stat);
        }
        return;
      } catch (error) {
        if (!(error instanceof ZooKeeperError && error.isPassing)) {
          this.#watched.tools.warn(`${path} cannot be watched`, error);
          return;
        }
        // The watch is planted anew on the next connection, but it tells only of what happens from now on: the answer may have said more.
        await connectedOrEnded(session);
      }
    }
  }

  #read(data: Buffer, { czxid, mzxid }: Stat): void {
    // What it was created with is its owner's, whatever it says.
    if (mzxid <= (this.#mark?.mzxid ?? czxid)) return;
    const mark = markIn(data);
    this.#mark = { is: mark, mzxid };
    if (mark === 'force') this.#watched.forced();
    if (mark) this.#marks?.tell(mark);
  }
}

function nothing(): void {
  // No timer runs.
}
