/** Between two beats of a process that runs, less time than this passes. */
const longestBeatMs = 25;
const pauseMs = 5;

/**
 * A stopwatch that stands still while a busy machine holds this process up, and, if `look` reads from a server, while
 * it holds that server up. So it can judge an upper limit of a time.
 */
export class RunningTime implements Disposable {
  readonly #look: () => Promise<unknown>;
  #ranMs = 0;
  #beatAt = performance.now();
  #isOver = false;

  constructor(look: () => Promise<unknown> = () => Promise.resolve()) {
    this.#look = look;
    void this.#beat();
  }

  /** The milliseconds since the start for which nothing was held up. */
  get ms(): number {
    return this.#ranMs + Math.min(performance.now() - this.#beatAt, longestBeatMs);
  }

  /** True if something was held up until now: what happened meanwhile is noticed only now, in any order. */
  get isHeldUp(): boolean {
    return performance.now() - this.#beatAt > longestBeatMs;
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
  }

  async #beat(): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      // The server or its observer may be closed by now, and an observer would connect again.
      if (this.#isOver) return;
      // Without an answer the last beat stays open, as it does while a server is held up.
      await this.#look().catch(() => undefined);
      this.#ranMs = this.ms;
      this.#beatAt = performance.now();
    }
  }
}
