import { uuidOf } from '../../driver/names.js';
import type { CancelTimer, Clock } from '../../support/clock.js';
import { inNoContext } from '../../support/no-context.js';
import { getChildren } from '../../zookeeper/wire/operations.js';
import type { Session } from '../../zookeeper/session/session.js';
import { removeStray, type LostZnode } from './strays.js';

/**
 * Deletes, in the background, a znode that does not exist yet. A follower that is cut off from its leader keeps the
 * requests of its clients. When the cut heals, the leader may carry out a create long after its session has moved to
 * another server, because an attempt of the client to connect to that follower again has moved the session back
 * (ZOOKEEPER-710). So the znode is searched for again on each new connection, and after pauses that double.
 */
export function removeLate(session: Session, lost: LostZnode): void {
  session.companions.of(LateCreates).add(lost);
}

/** The creates of one session that were not carried out when the client looked, and still may be. */
class LateCreates {
  readonly #session: Session;
  /** Until when each is searched for, in monotonic milliseconds. */
  readonly #lost = new Map<LostZnode, number>();
  #searchedOn = 0;
  #isSearching = false;
  /** The present pause; 0 if nothing is searched for. */
  #pauseMs = 0;
  #cancel: CancelTimer = () => undefined;

  constructor(session: Session) {
    this.#session = session;
    session.onChange(() => {
      if (session.isEnded) this.#forget();
      else if (session.isConnected && session.epoch !== this.#searchedOn) void this.#search();
    });
  }

  add(lost: LostZnode): void {
    const { clock } = lost.host;
    // The session may end while its create is searched for.
    if (this.#session.isEnded) return;
    this.#lost.set({ ...lost, stands: 'same-uuid' }, clock.now() + searchedMs);
    this.#searchedOn = this.#session.epoch;
    const pauseMs = Math.min(longestPauseMs, this.#session.timeoutMs / 2);
    // A running pause of that length goes on. Otherwise creates that are lost one after another would put the search off.
    if (this.#pauseMs !== pauseMs) this.#pause(pauseMs, clock);
  }

  #pause(pauseMs: number, clock: Clock): void {
    this.#cancel();
    this.#pauseMs = pauseMs;
    const ended = (): void => {
      const now = clock.now();
      for (const [lost, until] of this.#lost) if (until <= now) this.#lost.delete(lost);
      void this.#search();
      if (this.#lost.size === 0) this.#pauseMs = 0;
      else this.#pause(Math.min(longestPauseMs, 2 * pauseMs), clock);
    };
    // The pauses may outlast the acquire, and must not keep its context alive.
    this.#cancel = inNoContext(() => clock.after(pauseMs, ended, { keepsProcess: false }));
  }

  /**
   * One list after another, because a lost connection may leave the creates of thousands of locks. All are read behind one
   * sync, which writes no transaction: a client that is idle writes none.
   */
  async #search(): Promise<void> {
    const session = this.#session;
    const { epoch } = session;
    if (this.#isSearching && this.#searchedOn === epoch) return;
    this.#searchedOn = epoch;
    this.#isSearching = true;
    session.catchUp('/');
    for (const parent of new Set([...this.#lost.keys()].map((lost) => lost.parent))) {
      const names = await session.find(getChildren(parent)).catch(ignore);
      // The next connection has a search of its own.
      if (session.epoch !== epoch) return;
      this.#remove(parent, new Set(names?.map(uuidOf)));
    }
    this.#isSearching = false;
  }

  #remove(parent: string, uuids: ReadonlySet<string | undefined>): void {
    for (const lost of this.#lost.keys())
      if (lost.parent === parent && uuids.has(lost.uuid)) {
        // No create is carried out twice.
        this.#lost.delete(lost);
        removeStray(this.#session, lost);
      }
  }

  #forget(): void {
    this.#cancel();
    this.#lost.clear();
  }
}

const longestPauseMs = 60_000;
/**
 * The last search comes two minutes after the loss or later. By then, the leader has given up a follower that it does not
 * hear from: by default, after five ticks.
 */
const searchedMs = 120_000 + longestPauseMs;

function ignore(): undefined {
  // A lost answer leads to a search on the next connection. An unreadable list stays unreadable.
}
