import type { CancelTimer, Clock } from '../support/clock.js';
import type { SessionIdentity } from '../zookeeper/connection.js';
import type { Session, SessionOwner } from '../zookeeper/session.js';

/**
 * A session that the client has given up lives on at the servers until it expires, and its znodes block the queue. It
 * is attached to once
 * more, only to be closed (CURATOR-595): while the client's own session is connected, with longer and longer pauses,
 * until a server has
 * closed it or no server can know it any more.
 */
export class Ghost {
  readonly #options: GhostOptions;
  /** A server that accepts its ConnectRequest gives it one more timeout. */
  #touchedAt: number;
  #rounds = 0;
  #attempt: Session | undefined;
  #pause: CancelTimer | undefined;
  #whenOver: (() => void)[] = [];
  #isClosing = false;
  #isOver = false;

  constructor(options: GhostOptions) {
    this.#options = options;
    this.#touchedAt = options.clock.now();
  }

  /** Dials if the time for it has come: called when it begins, and when the client's session has changed. */
  look(): void {
    if (this.#isOver || this.#attempt || this.#pause) return;
    const health = this.#options.health();
    if (!this.#isClosing && health === undefined) return;
    if (this.#rounds > 0 && health !== undefined && isForgotten(health, this.#touchedAt, this.#options.timeoutMs))
      this.#end();
    else this.#dial();
  }

  /** The client closes: from now on it is dialled whether the client is connected or not, for this long at most. */
  close(timeoutMs: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    const closed = new Promise<void>((resolve) => this.#whenOver.push(resolve));
    this.#whenOver.push(this.#options.clock.after(timeoutMs, () => this.#end()));
    this.#isClosing = true;
    this.#pause?.();
    this.#pause = undefined;
    this.look();
    return closed;
  }

  #dial(): void {
    const { identity, timeoutMs, clock } = this.#options;
    let isTold = true;
    const owner: SessionOwner = {
      connected: ignore,
      suspended: ignore,
      overdue: ignore,
      settled: ignore,
      warn: (message, error) => this.#options.warn(message, error),
      unanswered: (attempt) => {
        isTold = false;
        attempt.abandon();
      },
      ended: (attempt, why) => {
        if (attempt.epoch > 0) this.#touchedAt = clock.now();
        this.#attempt = undefined;
        if (this.#isOver) return;
        if (isTold && why === 'closed') this.#options.closed();
        if (isTold) this.#end();
        else this.#unanswered();
      },
    };
    // Servers with older data refuse its zxid in silence. Nothing is read here that could be too old, so the next
    // rounds show none. The first one shows it: a server that was cut
    // off before the session began would say that it is over.
    const lastZxid = this.#rounds === 0 ? identity.lastZxid : 0n;
    const attempt = this.#options.open(
      { resume: { ...identity, lastZxid }, sessionTimeoutMs: timeoutMs, unansweredRounds: this.#rounds },
      owner,
    );
    this.#attempt = attempt;
    this.#rounds += 1;
    void attempt.close(Infinity);
  }

  #unanswered(): void {
    const { clock, random, timeoutMs } = this.#options;
    this.#pause = clock.after(pauseMs(this.#rounds, timeoutMs) * (0.5 + random() / 2), () => {
      this.#pause = undefined;
      this.look();
    });
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#pause?.();
    this.#attempt?.abandon();
    for (const tell of this.#whenOver.splice(0)) tell();
    this.#options.over(this);
  }
}

/** How a ghost is dialled: once over the hosts. */
export interface GhostAttempt {
  readonly resume: SessionIdentity;
  readonly sessionTimeoutMs: number;
  readonly unansweredRounds: number;
}

/** What the client's present session says of the servers. Monotonic milliseconds. */
export interface ServerHealth {
  /** When its present connection was made. */
  readonly connectedAt: number;
  /** When a request on it was answered the last time. */
  readonly heardAt: number;
}

export interface GhostOptions {
  readonly identity: SessionIdentity;
  /** What was granted to it. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly random: () => number;
  open(attempt: GhostAttempt, owner: SessionOwner): Session;
  /** Undefined while the client has no connection. */
  health(): ServerHealth | undefined;
  /** The servers have closed it, or said that it is over. */
  closed(): void;
  /** Nothing is left to do, whatever the servers said. */
  over(ghost: Ghost): void;
  warn(message: string, error: unknown): void;
}

const firstPauseMs = 250;

/**
 * Whether no server can know a session any more that was touched the last time at `touchedAt`. It ends after its
 * timeout of time in which a
 * leader leads, rounded up to a tick, which is half of the timeout at most. A new leader begins its time anew, so only
 * the present
 * connection counts.
 */
export function isForgotten({ connectedAt, heardAt }: ServerHealth, touchedAt: number, timeoutMs: number): boolean {
  return heardAt - Math.max(connectedAt, touchedAt) >= timeoutMs * 1.5;
}

/** After so many rounds without an answer. */
export function pauseMs(rounds: number, timeoutMs: number): number {
  return Math.max(firstPauseMs, Math.min(firstPauseMs * 2 ** (rounds - 1), timeoutMs / 3));
}

function ignore(): void {
  // The session is only closed.
}
