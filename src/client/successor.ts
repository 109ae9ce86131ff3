import type { Session } from '../zookeeper/session/session.js';
import type { SessionSource } from './session-source.js';
import { reached } from '../support/reached.js';

/**
 * Finds out why no server answers a session any more. A server that was wiped, or restored from an older backup,
 * refuses a client whose zxid is newer than its own: it closes the connection without a reply, at every attempt. A
 * server in an election refuses without a reply too, but knows the session afterwards. So a new session is opened
 * beside the old one, and replaces it only if the servers' own zxid is below the newest zxid that the old session has
 * seen.
 */
export class Successor {
  readonly #source: SessionSource;
  readonly #replace: Replace;
  readonly #live = new Set<Session>();
  #candidate: Session | undefined;
  #fruitless = 0;
  /** The timeout that was granted to the session that no server answers, in milliseconds. */
  #timeoutMs = 0;
  #notBefore = -Infinity;
  #isClosed = false;

  constructor(source: SessionSource, replace: Replace) {
    this.#source = source;
    this.#replace = replace;
  }

  /** Every host was tried, and none answered `old`, which is presumed to be over. */
  refused(old: Session): void {
    if (this.#isClosed || this.#candidate || this.#source.clock.now() < this.#notBefore) return;
    this.#timeoutMs = old.timeoutMs;
    const candidate = this.#source.open(
      {
        suspended: (session) => this.#dismiss(session),
        unanswered: (session) => this.#dismiss(session),
        ended: (session) => {
          this.#live.delete(session);
          this.#dismiss(session);
        },
      },
      { unansweredRounds: this.#fruitless },
    );
    this.#candidate = candidate;
    this.#live.add(candidate);
    candidate.onChange(() => {
      if (candidate === this.#candidate && candidate.isProven) this.#judge(old, candidate);
    });
  }

  /** A server answered the client's session. */
  answered(): void {
    if (this.#candidate) this.#dismiss(this.#candidate);
    this.#fruitless = 0;
    this.#notBefore = -Infinity;
  }

  /** Closes all sessions that were opened here, unless the servers do not answer in time. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true;
    this.#candidate = undefined;
    // One that a server is granting at this moment closes itself: see `late-grant.ts`.
    await Promise.all([...this.#live].map((session) => session.close(timeoutMs)));
  }

  /**
   * Judged by the first answer, which is the answer to a quorum write. A read may show an old zxid, because a follower
   * may lag behind. A deposed leader answers no write.
   */
  #judge(old: Session, candidate: Session): void {
    if (old.isConnected || old.isEnded || candidate.connection.lastZxid >= old.connection.lastZxid) {
      this.#dismiss(candidate);
      return;
    }
    this.#candidate = undefined;
    this.#live.delete(candidate);
    this.#fruitless = 0;
    reached('successor: took the place of its session');
    this.#replace(old, candidate);
  }

  #dismiss(candidate: Session): void {
    if (candidate !== this.#candidate) return;
    reached('successor: dismissed');
    this.#candidate = undefined;
    this.#notBefore = this.#source.clock.now() + probePauseMs(this.#fruitless, this.#timeoutMs);
    this.#fruitless += 1;
    void candidate.close(this.#timeoutMs);
  }
}

/** The servers have older data than `old` has seen. `by` is connected, and takes the place of `old`. */
type Replace = (old: Session, by: Session) => void;

const firstPauseMs = 1_000;

/**
 * The pause after this number of new sessions that led to nothing, because each costs the servers three transactions.
 */
export function probePauseMs(fruitless: number, sessionTimeoutMs: number): number {
  return Math.min(firstPauseMs * 2 ** fruitless, sessionTimeoutMs);
}
