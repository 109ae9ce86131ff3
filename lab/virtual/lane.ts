/**
 * One direction of a connection: first in, first out, and nothing is lost unless the connection is. Two lanes do not
 * wait for each other.
 */
export class Lane {
  /** Each message takes longer by this, in milliseconds. */
  slowdownMs = 0;
  /** A link passes no more than this. */
  bytesPerSecond = Infinity;
  readonly #road: Road;
  readonly #underWay: { readonly at: number; readonly arrive: () => void }[] = [];
  #newestAt = 0;
  #isHeld = false;
  #cancel: (() => void) | undefined;

  constructor(road: Road) {
    this.#road = road;
  }

  /** While it is held, nothing arrives. The messages that are under way arrive afterwards. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  set isHeld(isHeld: boolean) {
    this.#isHeld = isHeld;
    this.#arm();
  }

  /** `arrive` runs at the receiver when the message has arrived. */
  send(arrive: () => void, sentAt = this.#road.now(), bytes = 0): void {
    const passesAt = Math.max(this.#newestAt, sentAt + this.slowdownMs + this.#road.delayMs());
    this.#newestAt = passesAt + (bytes * 1_000) / this.bytesPerSecond;
    this.#underWay.push({ at: this.#newestAt, arrive });
    if (this.#cancel === undefined) this.#arm();
  }

  /** The messages that are under way never arrive. */
  lose(): void {
    this.#underWay.length = 0;
    this.#arm();
  }

  #arm(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const [next] = this.#underWay;
    if (next && !this.#isHeld) this.#cancel = this.#road.at(next.at, () => this.#deliver());
  }

  #deliver(): void {
    this.#cancel = undefined;
    const now = this.#road.now();
    const due = this.#underWay.splice(0, 1);
    // The receiver did not run, or the lane was held: all that waits now is read in one go.
    if (due[0] && due[0].at < now)
      for (; (this.#underWay[0]?.at ?? Infinity) <= now;) due.push(...this.#underWay.splice(0, 1));
    this.#arm();
    for (const { arrive } of due) arrive();
    this.#road.arrived?.();
  }
}

/** The time on which a lane is, in milliseconds. */
export interface Road {
  now(): number;
  /** The time that the next message takes. */
  delayMs(): number;
  /** Calls `run` once, not before this time. Returns a function that cancels the call. */
  at(time: number, run: () => void): () => void;
  /** Called after the messages that arrive in one go. */
  arrived?(): void;
}
