import { divisors } from '../network/timeout-parts.js';

/**
 * The number of requests that may be in flight on one connection, without I/O and timers. A server answers in the order
 * of the requests, so each request waits for all that were sent before it. If thousands were sent at once, the session's
 * heartbeats would wait behind them, and no proof would arrive before the deadline although the server answers all the
 * time (docs/evidence.md: a burst loses no lock).
 *
 * The window follows the measured pace: it grows while a request waits less than half of the longest wait behind the
 * others, and shrinks when one waits longer. The round trip itself is no wait. A request with few others beside it waits
 * for none, so it tells nothing about the pace: otherwise a calm hour of heartbeats would let a burst go out at once.
 *
 * Times are monotonic milliseconds.
 */
export class FlowWindow {
  #size = firstSize;
  /** The shortest time from a request to its answer on this connection: the round trip. */
  #roundTripMs = Infinity;
  /** Requests that were sent before this time were sent at the size `#judged`, or a smaller one. */
  #judgedFrom = -Infinity;
  #judged = firstSize;

  /** The number of requests that may be unanswered at once. */
  get size(): number {
    return Math.floor(this.#size);
  }

  /** A request that was sent at `sentAt` was answered at `now`. `inFlight`: the number of requests until then. */
  answered(sentAt: number, now: number, timeoutMs: number, inFlight: number): void {
    const tookMs = now - sentAt;
    this.#roundTripMs = Math.min(this.#roundTripMs, tookMs);
    const waitedMs = tookMs - this.#roundTripMs;
    const longestMs = timeoutMs / divisors.waitBehindOthers;
    if (waitedMs < longestMs / 2) {
      if (inFlight >= this.#size / 2) this.#size = Math.min(largest, this.#size + 1);
    } else if (waitedMs > longestMs) {
      if (sentAt >= this.#judgedFrom) {
        this.#judgedFrom = now;
        this.#judged = this.#size;
      }
      // The first request that waits too long does so hardly. Those behind it tell by how much the pace has fallen.
      this.#size = Math.min(this.#size, Math.max(smallest, (this.#judged * longestMs) / waitedMs));
    }
  }
}

const firstSize = 128;
const smallest = 16;
/** Node.js reads all answers that have arrived in one turn of the event loop: those of 4,096 requests took 0.5 s. */
const largest = 1_024;
