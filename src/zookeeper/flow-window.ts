/**
 * The number of requests that may be in flight on one connection, without I/O and timers. A server answers in the order
 * of the requests, so each request waits for all that were sent before it. If thousands were sent at once, the session's
 * heartbeats would wait behind them, and no proof would arrive before the deadline although the server answers all the
 * time (DESIGN, section 6, rule 10).
 *
 * The window follows the measured pace: it grows while a request waits less than half of the longest wait behind the
 * others, and shrinks when one waits longer. The round trip itself is no wait.
 *
 * Times are monotonic milliseconds.
 */
export class FlowWindow {
  #size = firstSize;
  /** The shortest time from a request to its answer on this connection: the round trip. */
  #roundTripMs = Infinity;
  /** Only requests that were sent after the last shrinking tell whether it was enough. */
  #judgedFrom = -Infinity;

  /** The number of requests that may be unanswered at once. */
  get size(): number {
    return Math.floor(this.#size);
  }

  /** A request that was sent at `sentAt` was answered at `now`. */
  answered(sentAt: number, now: number, timeoutMs: number): void {
    const tookMs = now - sentAt;
    this.#roundTripMs = Math.min(this.#roundTripMs, tookMs);
    const waitedMs = tookMs - this.#roundTripMs;
    const longestMs = timeoutMs / waitsPerTimeout;
    if (waitedMs < longestMs / 2) {
      this.#size = Math.min(largest, this.#size + 1);
    } else if (waitedMs > longestMs && sentAt >= this.#judgedFrom) {
      this.#size = Math.max(smallest, (this.#size * longestMs) / waitedMs);
      this.#judgedFrom = now;
    }
  }
}

/** A request waits behind the others for at most this part of the session timeout. */
const waitsPerTimeout = 12;

const firstSize = 256;
const smallest = 16;
const largest = 4_096;
