/**
 * The sessions of a server and their expiry. Like in the Java server, a session expires at the end of the tick in which
 * its timeout ends.
 */
export class SessionTable {
  readonly #sessions = new Map<bigint, Session>();
  readonly #tickMs: number;
  readonly #random: () => number;
  #nextId: bigint;

  /** @param firstAt milliseconds; the first session's id is made from it */
  constructor(tickMs: number, firstAt: number, random: () => number) {
    this.#tickMs = tickMs;
    this.#random = random;
    this.#nextId = (BigInt.asUintN(64, BigInt(Math.floor(firstAt)) << 24n) >> 8n) | 1n;
  }

  get all(): Session[] {
    return [...this.#sessions.values()];
  }

  open(timeoutMs: number, now: number): Session {
    const id = this.#nextId;
    this.#nextId += 1n;
    const password = Buffer.from(Array.from({ length: 16 }, () => Math.floor(this.#random() * 256)));
    return this.restore(id, password, timeoutMs, now);
  }

  restore(id: bigint, password: Buffer, timeoutMs: number, now: number): Session {
    const session: Session = { id, password, expiresAt: 0 };
    this.#sessions.set(id, session);
    this.#expireAfter(session, timeoutMs, now);
    return session;
  }

  get(id: bigint): Session | undefined {
    return this.#sessions.get(id);
  }

  /** Returns false if the session no longer exists. */
  touch(id: bigint, timeoutMs: number, now: number): boolean {
    const session = this.#sessions.get(id);
    if (session) this.#expireAfter(session, timeoutMs, now);
    return session !== undefined;
  }

  delete(id: bigint): boolean {
    return this.#sessions.delete(id);
  }

  expired(now: number): Session[] {
    return [...this.#sessions.values()].filter(({ expiresAt }) => expiresAt <= now);
  }

  #expireAfter(session: Session, timeoutMs: number, now: number): void {
    session.expiresAt = (Math.floor((now + timeoutMs) / this.#tickMs) + 1) * this.#tickMs;
  }
}

/** A session as the server knows it. */
export interface Session {
  readonly id: bigint;
  readonly password: Buffer;
  /** The time of its expiry unless it is touched before: a multiple of the tick. */
  expiresAt: number;
}

/** Returns the id as this library and ZooKeeper's logs write it, such as `0x100003e1a2b0000`. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}
