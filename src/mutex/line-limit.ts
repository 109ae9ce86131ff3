/** Limits the lines that one trouble writes into a log: at most `most` of them in `withinMs`. */
export class LineLimit {
  readonly #most: number;
  readonly #withinMs: number;
  #since = -Infinity;
  #lines = 0;

  constructor(most: number, withinMs: number) {
    this.#most = most;
    this.#withinMs = withinMs;
  }

  /** Counts one more line, at the time `now`. Returns true if it may be written. */
  mayWrite(now: number): boolean {
    if (now - this.#since >= this.#withinMs) {
      this.#since = now;
      this.#lines = 0;
    }
    this.#lines += 1;
    return this.#lines <= this.#most;
  }
}
