import type { CancelTimer } from '../support/clock.js';
import type { Session } from '../zookeeper/session/session.js';
import type { SessionIdentity } from '../zookeeper/wire/wire-session.js';
import type { SessionSource } from './session-source.js';
import { reached } from '../support/reached.js';

/**
 * A session that the client has given up. It lives on at the servers until it expires, and its znodes block the queue.
 * So the client attaches to it once more, only to close it (CURATOR-595). It does so while its own session is
 * connected, with longer and longer pauses, until a server has closed the ghost or no server can know it any more.
 */
export class Ghost {
  readonly #lost: LostSession;
  readonly #source: SessionSource;
  readonly #owner: GhostOwner;
  /**
   * The time when a server last may have extended the session. A server that accepts its ConnectRequest gives it one
   * more timeout.
   */
  #touchedAt: number;
  #rounds = 0;
  #attempt: Session | undefined;
  #pause: CancelTimer | undefined;
  #whenOver: (() => void)[] = [];
  #isClosing = false;
  #isOver = false;

  constructor({ connection, timeoutMs }: Session, source: SessionSource, owner: GhostOwner) {
    this.#lost = { identity: connection.identity, timeoutMs };
    this.#source = source;
    this.#owner = owner;
    this.#touchedAt = source.clock.now();
  }

  /** Dials if it is time to. Called at the beginning, and when the client's session has changed. */
  look(): void {
    if (this.#isOver || this.#attempt || this.#pause) return;
    const health = this.#owner.health();
    if (!this.#isClosing && health === undefined) return;
    if (health !== undefined && isForgotten(health, this.#touchedAt, this.#lost.timeoutMs)) {
      reached('ghost: no server can know it any more');
      this.#end();
    } else this.#dial();
  }

  /**
   * The client closes. From now on the ghost dials whether the client is connected or not, for at most `timeoutMs`
   * milliseconds.
   */
  close(timeoutMs: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const closed = new Promise<void>((resolve) => this.#whenOver.push(resolve));
    this.#whenOver.push(this.#source.clock.after(timeoutMs, () => this.#end()));
    reached('ghost: the client closes first');
    this.#isClosing = true;
    this.#pause?.();
    this.#pause = undefined;
    this.look();
    return closed;
  }

  #dial(): void {
    const { identity, timeoutMs } = this.#lost;
    let isTold = true;
    // Servers with older data refuse the ghost's zxid without a reply. The ghost reads nothing that could be too old,
    // so it shows no zxid from the second round on. The first round shows it, because a server that was cut off before
    // the session began would otherwise say that the session has ended.
    const lastZxid = this.#rounds === 0 ? identity.lastZxid : 0n;
    if (this.#rounds > 0) reached('ghost: dialled again');
    const attempt = this.#source.open(
      {
        unanswered: (session) => {
          isTold = false;
          session.abandon();
        },
        ended: (session, why) => {
          if (session.epoch > 0) this.#touchedAt = this.#source.clock.now();
          this.#attempt = undefined;
          if (this.#isOver) return;
          if (isTold) this.#end(why === 'closed');
          else this.#unanswered();
        },
      },
      { resume: { ...identity, lastZxid }, sessionTimeoutMs: timeoutMs, unansweredRounds: this.#rounds },
    );
    this.#attempt = attempt;
    this.#rounds += 1;
    void attempt.close(Infinity);
  }

  #unanswered(): void {
    const { clock, chance } = this.#source;
    this.#pause = clock.after(pauseMs(this.#rounds, this.#lost.timeoutMs) * (0.5 + chance.random() / 2), () => {
      this.#pause = undefined;
      this.look();
    });
  }

  #end(isClosed = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pause?.();
    if (isClosed) reached('ghost: closed on the servers');
    this.#attempt?.abandon();
    for (const tell of this.#whenOver.splice(0)) tell();
    this.#owner.over(isClosed);
  }
}

/** A session that the client has given up, and the timeout that was granted to it, in milliseconds. */
interface LostSession {
  readonly identity: SessionIdentity;
  readonly timeoutMs: number;
}

/** The state of the client's present connection. Monotonic milliseconds. */
export interface ServerHealth {
  /** The time when the present connection was made. */
  readonly connectedAt: number;
  /** The time of the last answer to a request on it. A ping proves nothing: a server that has no leader answers it. */
  readonly answeredAt: number;
}

/** The client that gave the session up. */
export interface GhostOwner {
  /** Undefined while the client has no connection. */
  health(): ServerHealth | undefined;
  /**
   * Nothing is left to do.
   *
   * @param isClosed true if the servers have closed the session, or said that it has ended
   */
  over(isClosed: boolean): void;
}

const firstPauseMs = 250;

/**
 * True if no server can know a session any more that was last touched at `touchedAt`. A session expires when a leader
 * has led for the session's timeout, rounded up to a tick, which is at most half of the timeout. A new leader starts
 * that time again, so only the present connection counts.
 */
export function isForgotten({ connectedAt, answeredAt }: ServerHealth, touchedAt: number, timeoutMs: number): boolean {
  return answeredAt - Math.max(connectedAt, touchedAt) >= timeoutMs * 1.5;
}

/** The pause after this number of rounds without an answer, in milliseconds. */
export function pauseMs(rounds: number, timeoutMs: number): number {
  return Math.max(firstPauseMs, Math.min(firstPauseMs * 2 ** (rounds - 1), timeoutMs / 3));
}
