/**
 * Whether every host was tried, one after another, and none answered the ConnectRequest. A server with older data never
 * says that a session
 * is over: it closes the connection. So do a server in an election, a throttled one and a read-only one.
 */
export class UnansweredRound {
  readonly #hosts: number;
  /** The latest attempts, whether a server took the connection. */
  #attempts: boolean[] = [];

  constructor(hosts: number) {
    this.#hosts = hosts;
  }

  add(wasAccepted: boolean): void {
    this.#attempts.push(wasAccepted);
    // The hosts take turns, so any so many attempts in a row are one of each.
    if (this.#attempts.length > this.#hosts) this.#attempts.shift();
  }

  /** A server answered: the next round begins from nothing. */
  reset(): void {
    this.#attempts = [];
  }

  get isComplete(): boolean {
    return this.#attempts.length === this.#hosts;
  }

  /** And one of them at least is there: it took the connection, and refused in silence. */
  get isRefused(): boolean {
    return this.isComplete && this.#attempts.includes(true);
  }
}
