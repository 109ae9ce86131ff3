/**
 * Records whether every host was tried, one after another, and none answered the ConnectRequest. A server with older
 * data never says that a session has ended: it closes the connection. A server in an election, a throttled server and a
 * read-only server do the same.
 */
export class UnansweredRound {
  readonly #hosts: number;
  /** The latest attempts: true if a server accepted the connection. */
  #attempts: boolean[] = [];

  constructor(hosts: number) {
    this.#hosts = hosts;
  }

  add(wasAccepted: boolean): void {
    this.#attempts.push(wasAccepted);
    // The hosts are tried in turn, so any `#hosts` attempts in a row include each host once.
    if (this.#attempts.length > this.#hosts) this.#attempts.shift();
  }

  /** A server answered. The next round begins from nothing. */
  reset(): void {
    this.#attempts = [];
  }

  get isComplete(): boolean {
    return this.#attempts.length === this.#hosts;
  }

  /**
   * True if the round is complete and at least one server is running: it accepted the connection, and refused without a
   * reply.
   */
  get isRefused(): boolean {
    return this.isComplete && this.#attempts.includes(true);
  }
}
