/** Runs a limited number of jobs at once, in their order. */
export class Pool {
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #most: number;
  #running = 0;

  constructor(most: number) {
    this.#most = most;
  }

  run<T>(job: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => job().then(resolve, reject));
      this.#next();
    });
  }

  #next(): void {
    if (this.#running === this.#most) return;
    const job = this.#waiting.shift();
    if (!job) return;
    this.#running += 1;
    void job().finally(() => {
      this.#running -= 1;
      this.#next();
    });
  }
}
