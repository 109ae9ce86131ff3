import { Refusal } from '../../packages/testing/src/wire/refusal.ts';

/** The sessions as a leader sees them (Java's SessionTrackerImpl). The leader alone expires sessions. */
export class LeaderSessions {
  readonly #tickMs: number;
  readonly #sessions = new Map<bigint, LeaderSession>();

  constructor(tickMs: number) {
    this.#tickMs = tickMs;
  }

  /** A new leader does not know which members the clients are connected to. Then `owner` is undefined. */
  open(id: bigint, timeoutMs: number, owner: number | undefined, now: number): void {
    this.#sessions.set(id, { id, timeoutMs, owner, expiresAt: this.#expiryAt(timeoutMs, now), isClosing: false });
  }

  /** Returns false if the session is over, or about to be. Nothing extends it then. */
  touch(id: bigint, timeoutMs: number, now: number): boolean {
    const session = this.#sessions.get(id);
    if (!session || session.isClosing) return false;
    session.timeoutMs = timeoutMs;
    session.expiresAt = this.#expiryAt(timeoutMs, now);
    return true;
  }

  /** The session's client has connected to this member. */
  move(id: bigint, owner: number): void {
    const session = this.#sessions.get(id);
    if (session) session.owner = owner;
  }

  /** Why a request that comes from this member is refused; undefined if it is not. */
  refusalOf(id: bigint, owner: number): Refusal | undefined {
    const session = this.#sessions.get(id);
    if (!session || session.isClosing) return Refusal.of('SESSION_EXPIRED');
    session.owner ??= owner;
    return session.owner === owner ? undefined : Refusal.of('SESSION_MOVED');
  }

  /** Its end is proposed. Returns false if it was so before, or if there is no such session. */
  close(id: bigint): boolean {
    const session = this.#sessions.get(id);
    if (!session || session.isClosing) return false;
    session.isClosing = true;
    return true;
  }

  delete(id: bigint): void {
    this.#sessions.delete(id);
  }

  expired(now: number): bigint[] {
    const ids: bigint[] = [];
    for (const { id, expiresAt, isClosing } of this.#sessions.values())
      if (!isClosing && expiresAt <= now) ids.push(id);
    return ids;
  }

  get views(): SessionView[] {
    return [...this.#sessions.values()].map(({ id, timeoutMs, expiresAt, isClosing, owner }) => {
      return { id, timeoutMs, expiresAt, isClosing, member: owner };
    });
  }

  /** ExpiryQueue rounds up to the end of a tick. */
  #expiryAt(timeoutMs: number, now: number): number {
    return (Math.floor((now + timeoutMs) / this.#tickMs) + 1) * this.#tickMs;
  }
}

interface LeaderSession {
  readonly id: bigint;
  timeoutMs: number;
  owner: number | undefined;
  expiresAt: number;
  isClosing: boolean;
}

/** A session as the leader sees it. */
export interface SessionView {
  readonly id: bigint;
  /** The timeout of the newest connection that the leader has heard of. */
  readonly timeoutMs: number;
  /** The time on the ensemble's clock at which the leader expires it unless it is touched before. */
  readonly expiresAt: number;
  /** The leader has proposed its end. */
  readonly isClosing: boolean;
  /** The member that its client is connected to, if the leader knows. */
  readonly member: number | undefined;
}
